export const RUN_TABS = ['overview', 'charts', 'system', 'log', 'job'] as const
export type RunTab = (typeof RUN_TABS)[number]
