import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { z } from 'zod'
import { type AttemptFacts, attemptSchema, readAttempts } from '../attempts/attempt-list.ts'
import { type Colour, limitParameter, operation, optionalText, switchParameter } from './operation.ts'

export const listAttemptsOperation = operation({
  summary:
    'List what clients did to connect in the last day, step by step, and what to look at if they failed.',
  input: z.strictObject({
    failed: switchParameter('only those that failed'),
    client: optionalText('only of clients with this id, or with this in their name', '<id-or-name>'),
    request: optionalText(
      'only the one with this request id: error pages and the header X-Request-Id have it',
      '<id>',
    ),
    limit: limitParameter,
  }),
  result: z
    .array(attemptSchema)
    .describe(
      'An array of attempts, newest first, with their steps in order, and what to look at for those that failed.',
    ),
  routes: [{ id: 'listAttempts', request: 'GET /attempts' }],
  command: {
    usage: 'attempts',
    examples: [
      'attempts',
      'attempts --failed',
      'attempts --request 0oBbYz3mQkq1f2Xc',
      'attempts --client Claude --follow',
    ],
    settings: ['store', 'clients'],
    defaults: { limit: '1000' },
    stops: true,
    followKey(entry) {
      const { id, result } = entry as AttemptFacts
      return result === 'under_way' ? undefined : `${id} ${result}`
    },
    text: (attempts, _input, colour) =>
      attempts.length === 0
        ? 'No client has tried to connect in the last day.'
        : attempts
            .toReversed()
            .map((attempt) => textOf(attempt, colour))
            .join('\n'),
    notes: (attempts) => (attempts.length === 0 ? [] : ['The newest is last.']),
  },
  handle: readAttempts,
})

const colours = { connected: 'green', under_way: 'yellow', stopped: 'dim', failed: 'red' } as const

const resultTexts: Readonly<Record<AttemptFacts['result'], string>> = {
  connected: 'connected',
  under_way: 'under way',
  stopped: 'stopped before signing in',
  failed: 'failed',
}

/** Returns an attempt as text: a line about it, its steps, and what to look at. */
function textOf(attempt: AttemptFacts, colour: Colour): string {
  const { started_at: startedAt, result, steps, advice } = attempt
  const network = steps[0]?.network ?? 'an unknown network'
  const { client = `no client named, from ${network}` } = attempt
  const time = new Date(startedAt * 1000).toISOString().slice(0, 19)
  const agents = [...new Set(steps.flatMap(({ user_agent: agent }) => agent ?? []))].map(plainText)
  const head = [plainText(client), `${time}Z`, colour(colours[result], resultTexts[result])]
  const walked = steps.map(({ step, status, ok, detail, count }) => {
    const more = `${detail === undefined ? '' : ` (${plainText(detail)})`}${count === undefined ? '' : ` x${count}`}`
    return ok ? `${step} ${status}${more}` : colour('red', `${step} ${status} failed${more}`)
  })
  const failure = steps.findLast(({ ok }) => !ok)
  return [
    head.join('  '),
    `  ${walked.join(', ')}`,
    `  by ${agents.join('; ') || 'an unknown program'}`,
    ...(failure && result === 'failed' ? [`  request id ${failure.request_id}`] : []),
    ...(advice === undefined ? [] : [`  ${advice}`]),
    '',
  ].join('\n')
}
