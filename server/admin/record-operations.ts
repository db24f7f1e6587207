import { z } from 'zod'
import { type AdminOperation, adminOperation, limitParameter, numberParameter } from './admin-operation.ts'

const eventSchema = z.looseObject({
  sequence: z.int().describe('increases by one with every event of the process, also across restarts'),
  time: z.string(),
  event: z.string().describe('docs/observability.md lists the events and their fields'),
})

/** Returns the server's audit events, and the description of this API. */
export const recordOperations: readonly AdminOperation[] = [
  adminOperation({
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    summary: "Lists this process's last 10,000 audit events, oldest first.",
    input: z.strictObject({
      since: numberParameter(
        { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 },
        'only events after this sequence; `next` of the previous response',
      ),
      limit: limitParameter,
    }),
    result: {
      description: 'The events, and `next`: the `since` of the following request.',
      schema: z.object({ events: z.array(eventSchema), next: z.int() }),
    },
    refusals: {},
    handle: async ({ since, limit }, { events }) => events.since(since, limit),
  }),
  adminOperation({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This description.',
    input: z.strictObject({}),
    result: { description: 'An OpenAPI 3.1 document.', schema: z.looseObject({ openapi: z.string() }) },
    refusals: {},
    handle: async (_input, { document }) => document,
  }),
]
