import { z } from 'zod'
import { attemptSteps } from '@drawbridge/shared/attempt-step.ts'
import { readAttempts } from '../core/attempts/attempt-list.ts'
import {
  type AdminOperation,
  adminOperation,
  limitParameter,
  numberParameter,
  seconds,
  switchParameter,
  textParameter,
} from './admin-operation.ts'

const eventSchema = z.looseObject({
  sequence: z.int().describe('increases by one with every event of the process, also across restarts'),
  time: z.string(),
  event: z.string().describe('docs/observability.md lists the events and their fields'),
})

const attemptSchema = z.object({
  id: z.string(),
  client: z.string().optional().describe('name of the client, else its id'),
  started_at: seconds('when its first request came'),
  result: z.enum(['connected', 'under_way', 'stopped', 'failed']),
  steps: z.array(
    z.object({
      step: z.enum(attemptSteps),
      at: seconds('when the response was sent'),
      status: z.int(),
      ok: z.boolean(),
      request_id: z.string(),
      detail: z.string().optional().describe('why it was refused, or what is awaited'),
      user_agent: z.string().optional(),
      network: z.string().optional().describe('the /24 or /48 of the address'),
      probably: z.boolean().optional().describe('joined by address, program and time only'),
    }),
  ),
  advice: z.string().optional().describe('what to look at'),
})

/** Returns the server's audit events, the attempts of clients to connect, and the description of this API. */
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
    id: 'listAttempts',
    method: 'GET',
    path: '/attempts',
    summary: 'Lists what clients did to connect in the last day, newest attempt first.',
    input: z.strictObject({
      client: textParameter('only of clients with this id, or with this in their name').optional(),
      request: textParameter('only the one with this X-Request-Id').optional(),
      failed: switchParameter('only those that failed'),
      limit: limitParameter,
    }),
    result: {
      description:
        'An array of attempts, with their steps in order, and what to look at for those that failed.',
      schema: z.array(attemptSchema),
    },
    refusals: {},
    handle: ({ limit, ...choice }, admin) => readAttempts(choice, limit, admin),
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
