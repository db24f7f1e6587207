import { z } from 'zod'
import {
  limitParameter,
  numberParameter,
  type Operation,
  operation,
  type OperatorPorts,
} from '../core/operator/operation.ts'
import { operations } from '../core/operator/operations.ts'
import type { AuditRing } from '../observability/audit-ring.ts'

export interface AdminPorts extends OperatorPorts {
  events: AuditRing
  document: { openapi: string; [member: string]: unknown }
}

/** One request of the API, with the part of its operation's input that it can give. */
export type AdminRoute = (typeof adminRoutes)[number]

const eventSchema = z.looseObject({
  sequence: z.int().describe('increases by one with every event of the process, also across restarts'),
  time: z.string(),
  event: z.string().describe('docs/observability.md lists the events and their fields'),
})

/** Operations without a command: they are about the process that answers. */
const ownOperations: readonly Operation<AdminPorts>[] = [
  operation({
    summary: "List this process's last 10,000 audit events, oldest first.",
    input: z.strictObject({
      since: numberParameter(
        { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 },
        'only events after this sequence; `next` of the previous response',
      ),
      limit: limitParameter,
    }),
    result: z
      .object({ events: z.array(eventSchema), next: z.int() })
      .describe('The events, and `next`: the `since` of the following request.'),
    routes: [{ id: 'listEvents', request: 'GET /events' }],
    handle: async ({ since, limit }, { events }: AdminPorts) => events.since(since, limit),
  }),
  operation({
    summary: 'Describe this API.',
    input: z.strictObject({}),
    result: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document.'),
    routes: [{ id: 'getOpenApi', request: 'GET /openapi.json' }],
    handle: async (_input, { document }: AdminPorts) => document,
  }),
]

/** All requests of the API: they are routed, checked and described by this table. */
export const adminRoutes = [...operations, ...ownOperations].flatMap(({ routes = [], ...of }) =>
  routes.map(({ id, request, summary = of.summary, result = of.result.description ?? '', refusals = {} }) => {
    const [method = '', path = ''] = request.split(' ')
    const inQuery = Object.keys(of.input.shape).filter((name) => name !== of.command?.operand)
    const names = method === 'GET' ? inQuery : pathParameters(path)
    const input = z.strictObject(Object.fromEntries(names.map((name) => [name, of.input.shape[name]])))
    return { id, method, path, summary, input, schema: of.result, result, refusals, handle: of.handle }
  }),
)

export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}
