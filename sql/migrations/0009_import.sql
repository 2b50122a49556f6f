-- Lines of an import that are written, while it is under way.
ALTER TABLE run ADD COLUMN import_line INTEGER;
