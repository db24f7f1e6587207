import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'
import { z } from 'zod'
import type { KeyRing } from '../seal.ts'
import type { AttemptStepStore } from '../attempts/attempt.ts'
import type { Client, ClientStore } from '../clients/client.ts'
import type { GrantStore } from '../session/grant.ts'
import type { SealedSessionStore } from '../session/reseal.ts'

/** The key ring's file. */
export interface KeyFile {
  path: string
  /** Returns when it was last written, in epoch seconds. */
  changedAt(): number
  /** Replaces the entries; other processes see all of the change or none. Passes on what `change` throws. */
  change(change: (entries: readonly string[]) => readonly string[]): void
}

/** Ports of all operations. The admin API passes its server's; commands open their own from the same settings. */
export interface OperatorPorts {
  store: AttemptStepStore & ClientStore & GrantStore & SealedSessionStore
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
  /** Clients of the operator's file. */
  configured: ReadonlyMap<string, Client>
  providerIssuer: string
  ring: KeyRing
  /** Undefined: the ring cannot be changed, and rotating uses its first key. */
  keyFile: KeyFile | undefined
  /** Reads the lines of the audit file, or with `-` those of stdin. */
  auditLines: (from: '-' | undefined) => AsyncIterable<string>
  /** Records a change in the audit log. Commands have none. */
  report: (event: string, fields: Record<string, unknown>) => void
  /** Tells about progress. */
  note: (text: string) => void
  /** True when long-running work must end. */
  isStopped: () => boolean
}

/** Why an operation was refused: the input is invalid (400), its subject unknown (404), or it is not possible now (409). */
export class OperatorRefusal extends Error {
  override readonly name = 'OperatorRefusal'
  readonly status: 400 | 404 | 409
  /** For people at a terminal. */
  readonly nextStep: string | undefined

  constructor(status: 400 | 404 | 409, message: string, nextStep?: string) {
    super(message)
    this.status = status
    this.nextStep = nextStep
  }
}

/** An HTTP request of the admin API. With GET the query may have every member of the input, otherwise only the path has. */
interface OperationRoute {
  /** Its name in generated clients. */
  id: string
  /** Method and path, with `{name}` for each path parameter. */
  request: `${'GET' | 'POST' | 'DELETE'} /${string}`
  /** Default: the operation's. */
  summary?: string
  /** Describes the response. The description of the operation's result if omitted. */
  result?: string
  /** Specific refusals, besides invalid parameters and those common to all routes. */
  refusals?: Readonly<Partial<Record<404 | 409, string>>>
}

/** A command of drawbridge-server. Each member of the input is a flag, except the operand. */
interface OperationCommand<Input, Facts> {
  /** With its operand: `keys remove <kid...>`. */
  usage: string
  /** The member of the input that is the operand. */
  operand?: string
  examples: readonly string[]
  /** Settings that it uses. It accepts all of them. */
  settings: readonly OperatorSetting[]
  /** Defaults of the input that differ from HTTP requests. */
  defaults?: Readonly<Record<string, string>>
  /** With `--follow`, entries of the result are printed once for each key; undefined: not yet. */
  followKey?(entry: object): string | undefined
  /** Ends in order at the first SIGINT. */
  stops?: boolean
  /** The result for people, on stdout. */
  text(facts: Facts, input: Input, colour: Colour): string
  /** Next steps and warnings for people, on stderr. */
  notes?(facts: Facts, input: Input): readonly string[]
}

type OperatorSetting =
  | 'store'
  | 'clients'
  | 'secretKeys'
  | 'access'
  | 'audit'
  | 'provider'
  | 'providerUrl'
  | 'privateUseRedirectUris'

export type Colour = (colour: 'green' | 'yellow' | 'red' | 'dim', text: string) => string

/** One row of the table of operations. Routes, commands, OpenAPI and docs are made from it. */
export interface Operation<Ports = OperatorPorts, Input = object, Result = object> {
  summary: string
  input: z.ZodObject
  result: z.ZodType<object>
  routes?: readonly OperationRoute[]
  command?: OperationCommand<Input, Result>
  /** Throws {@link OperatorRefusal}. */
  handle(input: Input, ports: Ports): Promise<Result>
}

/** Creates an operation whose handler and text are typed by `input` and `result`. */
export function operation<Input extends z.ZodObject, Result extends z.ZodType<object>, Ports = OperatorPorts>(
  row: Operation<Ports, z.output<Input>, z.output<Result>> & { input: Input; result: Result },
): Operation<Ports> {
  return row
}

/** Parses `given` by `schema`. Throws {@link OperatorRefusal} with every fault, each under `nameOf` its member. */
export function parseInput(
  schema: z.ZodObject,
  given: Readonly<Record<string, unknown>>,
  nameOf: (member: string) => string = (member) => member,
): Record<string, unknown> {
  const read = schema.safeParse(given)
  if (read.success) return read.data
  const names = Object.keys(schema.shape)
  const faults = read.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => `${name}: unknown parameter.${suggestion(name, names)}`)
      : [`${nameOf(issue.path.join('.'))}: ${issue.message}.`],
  )
  throw new OperatorRefusal(400, [...new Set(faults)].join(' '))
}

/** The value of a flag in help, such as `<id>`; empty for a switch. */
export const flagValues = z.registry<{ value: string }>()

/** A required text. */
export function textParameter(doc: string): z.ZodString {
  return z.string().min(1, { error: 'expected a value' }).describe(doc)
}

/** An optional text; `value` is its placeholder in help. */
export function optionalText(doc: string, value: string): z.ZodOptional<z.ZodString> {
  return textParameter(doc).optional().describe(doc).register(flagValues, { value })
}

/** A parameter that is `true` or `false`; defaults to false. */
export function switchParameter(doc: string): z.ZodType<boolean> {
  return z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive', error: 'expected true or false' })
    .default(false)
    .describe(doc)
    .register(flagValues, { value: '' })
}

/** An optional whole number; `usual` is its default. */
export function numberParameter(
  { min, max, usual }: { min: number; max: number; usual: number },
  doc: string,
): z.ZodType<number> {
  const error = `expected a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d{1,16}$/, { error })
    .transform(Number)
    .pipe(z.number().int({ error }).min(min, { error }).max(max, { error }))
    .default(usual)
    .describe(doc)
    .register(flagValues, { value: '<number>' })
}

/** Maximum number of entries of any list. */
export const maxListed = 10_000

/** The length of a list in a result. */
export const limitParameter: z.ZodType<number> = numberParameter(
  { min: 1, max: maxListed, usual: 100 },
  'maximum number of entries',
)

/** A time in a result. */
export function seconds(doc: string): z.ZodInt {
  return z.int().describe(`${doc}, in seconds since 1970`)
}

/** Formats epoch seconds for people: to the minute, in UTC. */
export function timeText(epochSeconds: number): string {
  return `${new Date(epochSeconds * 1000).toISOString().slice(0, 16)}Z`
}

/** The columns of a list as people see it: the head of each, and its cell for an entry. */
export type Columns<Entry> = Readonly<Record<string, (entry: Entry) => string | number | null | undefined>>

/** Prints a list as a table, with control characters escaped and `-` for a missing value; `none` if it is empty. */
export function listText<Entry>(entries: readonly Entry[], columns: Columns<Entry>, none: string): string {
  if (entries.length === 0) return none
  const rows = entries.map((entry) =>
    Object.values(columns).map((cellOf) => plainText(String(cellOf(entry) ?? '-'))),
  )
  return textTable(Object.keys(columns), rows)
}
