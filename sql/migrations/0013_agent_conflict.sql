-- Since when two machines call with the agent's key; NULL: they do not.
ALTER TABLE agent ADD COLUMN conflict_ms INTEGER;
