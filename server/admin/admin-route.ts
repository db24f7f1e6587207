import { z } from 'zod'
import {
  limitParameter,
  numberParameter,
  type Operation,
  operation,
  type OperationRoute,
  type OperatorPorts,
} from '../core/operator/operation.ts'
import { operations } from '../core/operator/operations.ts'
import type { AuditRing } from '../observability/audit-ring.ts'

export interface AdminPorts extends OperatorPorts {
  events: AuditRing
}

interface AdminContext extends AdminPorts {
  document: { openapi: string; [member: string]: unknown }
}

/** One request of the API, with the part of its operation's input that it can give. */
export interface AdminRoute extends Omit<OperationRoute, 'result'> {
  summary: string
  input: z.ZodObject
  result: { description: string; schema: z.ZodType }
  handle: Operation<AdminContext>['handle']
}

const eventSchema = z.looseObject({
  sequence: z.int().describe('increases by one with every event of the process, also across restarts'),
  time: z.string(),
  event: z.string().describe('docs/observability.md lists the events and their fields'),
})

/** Operations without a command: they are about the process that answers. */
const ownOperations: readonly Operation<AdminContext>[] = [
  operation({
    summary: "List this process's last 10,000 audit events, oldest first.",
    input: z.strictObject({
      since: numberParameter(
        { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 },
        'only events after this sequence; `next` of the previous response',
      ),
      limit: limitParameter,
    }),
    result: z.object({ events: z.array(eventSchema), next: z.int() }),
    routes: [
      {
        id: 'listEvents',
        method: 'GET',
        path: '/events',
        result: 'The events, and `next`: the `since` of the following request.',
      },
    ],
    handle: async ({ since, limit }, { events }: AdminContext) => events.since(since, limit),
  }),
  operation({
    summary: 'Describe this API.',
    input: z.strictObject({}),
    result: z.looseObject({ openapi: z.string() }),
    routes: [{ id: 'getOpenApi', method: 'GET', path: '/openapi.json', result: 'An OpenAPI 3.1 document.' }],
    handle: async (_input, { document }: AdminContext) => document,
  }),
]

/** All requests of the API: they are routed, checked and described by this table. */
export const adminRoutes: readonly AdminRoute[] = [...operations, ...ownOperations].flatMap(
  ({ routes = [], ...of }) =>
    routes.map((route) => {
      const names = route.method === 'GET' ? Object.keys(of.input.shape) : pathParameters(route.path)
      return {
        summary: of.summary,
        ...route,
        input: z.strictObject(Object.fromEntries(names.map((name) => [name, of.input.shape[name]]))),
        result: { description: route.result, schema: of.result },
        handle: of.handle,
      }
    }),
)

export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}
