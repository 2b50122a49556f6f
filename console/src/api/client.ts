// The one place that calls the server: typed by api/openapi.yaml, one kind of error.
import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from './schema'

type Schemas = components['schemas']
export type Me = Schemas['Me']
export type Server = Schemas['Server']
export type Project = Schemas['Project']
export type Run = Schemas['Run']
export type RunPage = Schemas['RunPage']
export type RunGroups = Schemas['RunGroups']
export type RunColumn = Schemas['RunColumn']
export type RunFigure = NonNullable<Schemas['RunFigure']>
export type RunDetail = Schemas['RunDetail']
export type RunState = Schemas['RunState']
export type Metric = Schemas['Metric']
export type Job = Schemas['Job']
export type JobState = Schemas['JobState']
export type JobEvent = Schemas['JobEvent']
export type Attempt = Schemas['Attempt']
export type JobSpec = Schemas['JobSpec']
export type JobCreate = Schemas['JobCreate']
export type JobForecast = Schemas['JobForecast']
export type JobWhy = Schemas['JobWhy']
export type Placement = Schemas['Placement']
export type Waiting = Schemas['Waiting']
export type Queue = Schemas['Queue']
export type Share = Schemas['Share']
export type ShareSet = Schemas['ShareSet']
export type Amounts = Schemas['Amounts']
export type Budget = Schemas['Budget']
export type BudgetSet = Schemas['BudgetSet']
export type BudgetPeriod = Schemas['BudgetPeriod']
export type Secret = Schemas['Secret']
export type Target = Schemas['Target']
export type Agent = Schemas['Agent']
export type MachineNode = Schemas['Node']
export type NodeGpu = Schemas['NodeGpu']
export type NodeJob = Schemas['NodeJob']
export type NodeSums = NonNullable<Schemas['NodeList']['sums']>
export type NodeSamples = Schemas['NodeSamples']
export type NodeSeries = Schemas['NodeSeries']
export type AccessKey = Schemas['Key']
export type KeySecret = Schemas['KeySecret']
export type Writer = Schemas['Writer']
export type Alert = Schemas['Alert']
export type Diff = Schemas['Diff']

/** What the server answered instead, or that it did not answer. */
export class ApiError extends Error {
  readonly status: number // 0: no answer
  readonly code: string
  readonly field: string
  readonly column: number // where in the text of the field, from 1; 0: not said
  readonly hint: string
  readonly requestId: string

  constructor(status: number, body: Partial<Schemas['Error']>) {
    super(body.message ?? '')
    this.status = status
    this.code = body.code ?? (status === 0 ? 'network' : 'unexpected')
    this.field = body.field ?? ''
    this.column = body.column ?? 0
    this.hint = body.hint ?? ''
    this.requestId = body.request_id ?? ''
  }
}

/** The header tells the server that no other site's form sent this. */
const fromConsole: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET') request.headers.set('Euvyra-Console', '1')
    return request
  },
}

export const client = createClient<paths>({ baseUrl: '', credentials: 'same-origin' })
client.use(fromConsole)

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** Unwraps an answer; throws ApiError for everything that is not one. */
export async function ask<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>
  try {
    answer = await call
  } catch {
    throw new ApiError(0, {})
  }
  if (answer.response.ok) return answer.data as T
  const body = typeof answer.error === 'object' && answer.error !== null ? answer.error : {}
  throw new ApiError(answer.response.status, body)
}

export interface ConsolePiece {
  bytes: Uint8Array
  next: number
  size: number
  final: boolean
}

/** Console text is bytes with headers, which the typed client has no shape for. */
export async function consoleRead(
  run: string,
  offset: number,
  limit: number,
  writer = '', // one process of the run; empty: all of them
): Promise<ConsolePiece> {
  let response: Response
  try {
    const part = writer ? `&writer=${writer}` : ''
    response = await fetch(`/api/v1/runs/${run}/console?offset=${offset}&limit=${limit}${part}`, {
      credentials: 'same-origin',
    })
  } catch {
    throw new ApiError(0, {})
  }
  if (!response.ok) {
    const body: unknown = await response.json().catch(() => ({}))
    throw new ApiError(response.status, body as Partial<Schemas['Error']>)
  }
  const bytes = new Uint8Array(await response.arrayBuffer())
  const next = Number(response.headers.get('Euvyra-Offset') ?? offset + bytes.length)
  return {
    bytes,
    next,
    size: Number(response.headers.get('Euvyra-Size') ?? next),
    final: response.headers.get('Euvyra-Final') === '1',
  }
}
