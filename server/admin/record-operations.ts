import { z } from 'zod'
import { type AdminOperation, adminOperation, limitParameter, numberParameter } from './admin-operation.ts'

const eventSchema = z.looseObject({
  sequence: z.int().describe('grows by one with every event of the process, and over its restarts'),
  time: z.string(),
  event: z.string().describe('docs/observability.md lists the events and their fields'),
})

/** What the server says of itself: its audit events, and this API. */
export const recordOperations: readonly AdminOperation[] = [
  adminOperation({
    id: 'listEvents',
    method: 'GET',
    path: '/events',
    summary: 'Lists audit events of this process, the oldest first. It has the last 10,000.',
    input: z.strictObject({
      since: numberParameter(
        { min: 0, max: Number.MAX_SAFE_INTEGER, usual: 0 },
        'only those after the event with this sequence; the `next` of the answer before',
      ),
      limit: limitParameter,
    }),
    result: {
      description: 'The events, and the `since` to ask with for the ones after them.',
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
