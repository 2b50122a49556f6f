// The shape of a catalogue: the English one is the list of keys, others must have each of them.
import type { en } from './en'
import type { enJobs } from './jobs-en'
import type { enNodes } from './nodes-en'

export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }
export type Text = string | Forms
export type Key = keyof typeof en
export type Catalogue = { [K in Key]: (typeof en)[K] extends string ? string : Forms }
export type JobsCatalogue = { [K in keyof typeof enJobs]: Catalogue[K] }
export type NodesCatalogue = { [K in keyof typeof enNodes]: Catalogue[K] }
