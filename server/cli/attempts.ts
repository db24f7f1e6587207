import { jsonForTerminal } from '@drawbridge/shared/json-text.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { readConfiguredClients } from '../config/client-file.ts'
import { type AttemptChoice, type AttemptFacts, readAttempts } from '../core/attempts/attempt-list.ts'
import type { Store } from '../core/store.ts'
import { type CommandInput, type CommandOptions, type ExitCode, exitCode, readConfig } from './command.ts'
import type { Colour } from './terminal.ts'
import { withStore } from './with-store.ts'

const maxListed = 1000
const followEveryMs = 1000

/**
 * Prints what clients did to connect, the oldest first, from the store that the servers share: those of the last day. With `follow`
 * goes on with each attempt that is decided, until `isStopped`.
 */
export async function printAttempts(
  input: CommandInput,
  { client, request, failed, follow = false }: CommandOptions,
  isStopped: () => boolean,
): Promise<ExitCode> {
  const config = readConfig(input, ['store', 'clients'])
  const { runtime, terminal, json } = input
  const configured = readConfiguredClients(config, runtime.now())
  const choice = { client, request, failed }
  await withStore(config, async (store) => {
    const read = (): Promise<AttemptFacts[]> => readStored(choice, store, { configured, runtime })
    const attempts = await read()
    if (follow) return followAttempts(read, attempts, input, isStopped)
    if (json) terminal.print(jsonForTerminal(attempts))
    else if (attempts.length === 0) terminal.print('No client has tried to connect in the last day.')
    else {
      for (const attempt of attempts) terminal.print(textOf(attempt, input))
      terminal.note('The newest is last.')
    }
  })
  return exitCode.ok
}

async function readStored(
  choice: AttemptChoice,
  store: Store | undefined,
  ports: { configured: ReadonlyMap<string, { name?: string | undefined }>; runtime: CommandInput['runtime'] },
): Promise<AttemptFacts[]> {
  const attempts = store ? await readAttempts(choice, maxListed, { ...ports, store }) : []
  return attempts.toReversed()
}

async function followAttempts(
  read: () => Promise<AttemptFacts[]>,
  first: readonly AttemptFacts[],
  input: CommandInput,
  isStopped: () => boolean,
): Promise<void> {
  const { terminal, json, runtime } = input
  const printed = new Map(first.map(({ id, result }) => [id, result]))
  if (!json) terminal.note('Waiting for clients that connect. Ctrl+C ends this.')
  while (!isStopped()) {
    for (const attempt of await read()) {
      const { id, result } = attempt
      if (result === 'under_way' || printed.get(id) === result) continue
      printed.set(id, result)
      terminal.print(json ? jsonForTerminal(attempt) : textOf(attempt, input))
    }
    await runtime.sleep(followEveryMs)
  }
}

const colours: Readonly<Record<AttemptFacts['result'], Colour>> = {
  connected: 'green',
  under_way: 'yellow',
  stopped: 'dim',
  failed: 'red',
}

const resultTexts: Readonly<Record<AttemptFacts['result'], string>> = {
  connected: 'connected',
  under_way: 'under way',
  stopped: 'stopped before signing in (a look, or a client that waits for its user)',
  failed: 'failed',
}

/** Returns an attempt as text: a line about it, its steps, and what to look at. */
function textOf(attempt: AttemptFacts, { terminal }: CommandInput): string {
  const { client = 'an unknown client', started_at: startedAt, result, steps, advice } = attempt
  const time = new Date(startedAt * 1000).toISOString().slice(0, 19)
  const agents = [...new Set(steps.flatMap(({ user_agent: agent }) => agent ?? []))].map(plainText)
  const head = [
    plainText(client),
    `${time}Z`,
    terminal.colour(colours[result], resultTexts[result]),
    ...(steps.some(({ probably }) => probably) ? ['(probably one client: joined by address and time)'] : []),
  ].join('  ')
  const walked = steps.map(({ step, status, ok, detail }) => {
    const more = detail === undefined ? '' : ` (${plainText(detail)})`
    return ok ? `${step} ${status}${more}` : terminal.colour('red', `${step} ${status} failed${more}`)
  })
  const failure = steps.findLast(({ ok }) => !ok)
  return [
    head,
    `  ${walked.join(', ')}`,
    `  by ${agents.join('; ') || 'an unknown program'}`,
    ...(failure && result === 'failed' ? [`  request id ${failure.request_id}`] : []),
    ...(advice === undefined ? [] : [`  ${advice}`]),
    '',
  ].join('\n')
}
