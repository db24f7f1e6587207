import { type AttemptStep, attemptSteps } from '@drawbridge/shared/attempt-step.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { z } from 'zod'
import type { ClientStore } from '../clients/client.ts'
import type { GrantStore } from '../session/grant.ts'
import { adviceOn } from './advice.ts'
import type { AttemptStepStore, StepRecord, StoredStep } from './attempt.ts'

const maxStepsRead = 20_000
/** How long the next request of a client may take, and a person in front of a page. */
const clientSeconds = 60
const personSeconds = 600

/** One attempt of a client to connect, as operators see it. Times are epoch seconds. */
export const attemptSchema = z.object({
  id: z.string(),
  client: z.string().optional().describe('name of the client, else its id'),
  started_at: z.int().describe('when its first request came'),
  result: z
    .enum(['connected', 'under_way', 'stopped', 'failed'])
    .describe('stopped: nothing was refused, and the sign-in page was not shown'),
  steps: z.array(
    z.object({
      step: z.enum(attemptSteps),
      at: z.int().describe('when the response was sent'),
      status: z.int(),
      ok: z.boolean(),
      request_id: z.string(),
      detail: z.string().optional().describe('why it was refused, or what is awaited'),
      user_agent: z.string().optional(),
      network: z.string().optional().describe('the /24 or /48 of the address'),
      probably: z.boolean().optional().describe('joined by address, program and time only'),
    }),
  ),
  advice: z
    .string()
    .optional()
    .describe('what to look at: if it failed, or if the same client stopped more than once'),
})

export type AttemptFacts = z.output<typeof attemptSchema>

/** Selects attempts: of a client by its id or name, by the id of a request, or those with something to look at. */
export interface AttemptChoice {
  client?: string | undefined
  request?: string | undefined
  failed?: boolean | undefined
}

export interface AttemptListPorts {
  store: AttemptStepStore & Pick<ClientStore, 'findClient'> & Pick<GrantStore, 'findGrant'>
  configured: ReadonlyMap<string, { name?: string | undefined }>
  runtime: Pick<Runtime, 'now'>
}

/** Returns the newest attempts of the last day, newest first, at most `limit`. Reads at most 20,000 steps. */
export async function readAttempts(
  choice: AttemptChoice,
  limit: number,
  ports: AttemptListPorts,
): Promise<AttemptFacts[]> {
  const now = ports.runtime.now()
  const rows = await ports.store.listAttemptSteps(maxStepsRead)
  const facts: AttemptFacts[] = []
  const attempts = joined(rows)
  const stops = stopsOf(attempts.values())
  for (const [id, records] of attempts) {
    if (facts.length === limit) break
    if (choice.request !== undefined && !records.some(({ requestId }) => requestId === choice.request))
      continue
    const found = await factsOf(id, records, now, ports)
    if (found.result === 'stopped' && (stops.get(sourceOf(records)) ?? 0) < 2) found.advice = undefined
    if (isChosen(found, records, choice)) facts.push(found)
  }
  return facts
}

function isChosen(found: AttemptFacts, records: readonly StepRecord[], choice: AttemptChoice): boolean {
  if (choice.failed && found.advice === undefined) return false
  return choice.client === undefined || isOf(choice.client, found, records)
}

/** Counts, by {@link sourceOf}, the attempts in which nothing was refused and nothing came of it. */
function stopsOf(attempts: Iterable<readonly StepRecord[]>): ReadonlyMap<string, number> {
  const stops = new Map<string, number>()
  for (const records of attempts) {
    if (isStopped(records)) stops.set(sourceOf(records), (stops.get(sourceOf(records)) ?? 0) + 1)
  }
  return stops
}

function isOf(client: string, { client: name }: AttemptFacts, records: readonly StepRecord[]): boolean {
  const wanted = client.toLowerCase()
  return name?.toLowerCase().includes(wanted) === true || records.some(({ clientId }) => clientId === client)
}

/** Groups rows by attempt, newest attempt first. What several instances saw of one sign-in is one attempt. */
function joined(rows: readonly StoredStep[]): Map<string, StepRecord[]> {
  const groups = new Map<string, StepRecord[]>()
  for (const { attempt, record } of rows) {
    const known = groups.get(attempt)
    if (known) known.unshift(record)
    else groups.set(attempt, [record])
  }
  const bySignIn = new Map<string, string>()
  for (const [id, records] of groups) {
    const signIn = records.find((each) => each.signIn !== undefined)?.signIn
    if (signIn === undefined) continue
    const first = bySignIn.get(signIn)
    if (first === undefined) {
      bySignIn.set(signIn, id)
      continue
    }
    groups.set(
      first,
      [...records, ...(groups.get(first) ?? [])].toSorted((one, other) => one.at - other.at),
    )
    groups.delete(id)
  }
  return groups
}

async function factsOf(
  id: string,
  records: readonly StepRecord[],
  now: number,
  ports: AttemptListPorts,
): Promise<AttemptFacts> {
  const seen = await withCallElsewhere(records, ports)
  const result = resultOf(seen, now)
  const clientId = seen.find((each) => each.clientId !== undefined)?.clientId
  const steps = seen.map(
    ({ requestId, userAgent, clientId: _client, signIn: _signIn, grantId: _grant, ...step }) => ({
      ...step,
      request_id: requestId,
      user_agent: userAgent,
    }),
  )
  return {
    id,
    client: clientId && (await nameOf(clientId, ports)),
    started_at: seen[0]?.at ?? now,
    result,
    steps,
    advice: result === 'failed' || result === 'stopped' ? adviceOn(seen) : undefined,
  }
}

async function nameOf(clientId: string, { store, configured }: AttemptListPorts): Promise<string> {
  const client = configured.get(clientId) ?? (await store.findClient(clientId))
  return client?.name ?? clientId
}

/** Adds the first call if another instance took it: the grant says when it was used. */
async function withCallElsewhere(
  records: readonly StepRecord[],
  { store }: AttemptListPorts,
): Promise<readonly StepRecord[]> {
  const token = records.findLast(({ step, ok }) => step === 'token' && ok)
  if (token?.grantId === undefined || has(records, 'first_call')) return records
  const use = (await store.findGrant(token.grantId))?.lastUse
  if (!use) return records
  return [...records, { step: 'first_call', at: use.usedAt, status: 200, ok: true, requestId: '' }]
}

function has(records: readonly StepRecord[], wanted: AttemptStep): boolean {
  return records.some(({ step, ok }) => step === wanted && ok)
}

function resultOf(records: readonly StepRecord[], now: number): AttemptFacts['result'] {
  if (has(records, 'first_call')) return 'connected'
  const last = records.at(-1)
  const waitsForPerson = last?.ok === true && (last.step === 'page' || last.step === 'sign_in')
  const patience = waitsForPerson ? personSeconds : clientSeconds
  if (last && now - last.at < patience) return 'under_way'
  return isStopped(records) ? 'stopped' : 'failed'
}

const pageIndex = attemptSteps.indexOf('page')

function isStopped(records: readonly StepRecord[]): boolean {
  return records.every(({ step, ok }) => ok && attemptSteps.indexOf(step) < pageIndex)
}

/** Returns whose attempt it is: that of a registered client, or of a program of a network. */
function sourceOf(records: readonly StepRecord[]): string {
  const clientId = records.find((each) => each.clientId !== undefined)?.clientId
  return clientId ?? `${records[0]?.network} ${records[0]?.userAgent}`
}
