import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { z } from 'zod'
import type { Client } from '../core/clients/client.ts'
import type { KeyRing } from '../core/seal.ts'
import type { Store } from '../core/store.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuditRing } from '../observability/audit-ring.ts'
import type { Report } from '../observability/log.ts'

export interface AdminPorts {
  store: Store
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
  ring: KeyRing
  /** File of the key ring; undefined: not in a file. */
  keyFile: string | undefined
  /** Clients of the operator's file. */
  configured: ReadonlyMap<string, Client>
  providerIssuer: string
  events: AuditRing
  /** True when long-running work must end. */
  isStopped: () => boolean
}

export interface AdminContext extends AdminPorts {
  report: Report
  document: { openapi: string; [member: string]: unknown }
}

const refusalCodes = { 400: 'invalid_request', 404: 'not_found', 409: 'conflict' } as const

/** Why an operation was refused, as the caller is told. */
export class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal'
  readonly status: keyof typeof refusalCodes
  readonly code: string

  constructor(status: keyof typeof refusalCodes, message: string) {
    super(message)
    this.status = status
    this.code = refusalCodes[status]
  }
}

/** One row of the table of operations: requests are routed by it, and the OpenAPI document is generated from it. */
export interface AdminOperation {
  /** Its name in generated clients. */
  id: string
  method: 'GET' | 'POST' | 'DELETE'
  /** With `{name}` for each path parameter. */
  path: string
  summary: string
  /** Schema of the path and query parameters, after parsing. */
  input: z.ZodObject
  result: { description: string; schema: z.ZodType }
  /** Specific refusals by status, besides those of invalid parameters and those common to all operations. */
  refusals: Readonly<Partial<Record<404 | 409, string>>>
  /** Parses the parameters of the URL and returns the response's content. Throws {@link AdminRefusal}. */
  run(given: Readonly<Record<string, string>>, admin: AdminContext): Promise<unknown>
}

interface OperationRow<Input extends z.ZodObject, Result extends z.ZodType> extends Omit<
  AdminOperation,
  'run'
> {
  input: Input
  result: { description: string; schema: Result }
  handle(input: z.output<Input>, admin: AdminContext): Promise<z.output<Result>>
}

/** Creates a row with a handler typed by `input` and `result`. */
export function adminOperation<Input extends z.ZodObject, Result extends z.ZodType>({
  handle,
  ...row
}: OperationRow<Input, Result>): AdminOperation {
  return {
    ...row,
    async run(given, admin) {
      const read = row.input.safeParse(given)
      if (read.success) return handle(read.data, admin)
      const names = Object.keys(row.input.shape)
      const faults = read.error.issues.flatMap((issue) => faultsOf(issue, names))
      throw new AdminRefusal(400, [...new Set(faults)].join(' '))
    },
  }
}

function faultsOf(issue: z.core.$ZodIssue, names: readonly string[]): string[] {
  if (issue.code !== 'unrecognized_keys') return [`${issue.path.join('.')}: ${issue.message}.`]
  return issue.keys.map((name) => `${name}: unknown parameter.${suggestion(name, names)}`)
}

export function textParameter(doc: string): z.ZodString {
  return z.string().min(1, { error: 'expected a value' }).describe(doc)
}

/** A parameter that is `true` or `false`; defaults to false. */
export function switchParameter(doc: string): z.ZodType<boolean> {
  return z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive', error: 'expected true or false' })
    .default(false)
    .describe(doc)
}

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
}

/** Maximum length of a list in a response. */
export const limitParameter: z.ZodType<number> = numberParameter(
  { min: 1, max: 1000, usual: 100 },
  'maximum number of entries',
)

/** A time in a response. */
export function seconds(doc: string): z.ZodInt {
  return z.int().describe(`${doc}, in seconds since 1970`)
}
