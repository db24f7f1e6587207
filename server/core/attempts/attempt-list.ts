import { type AttemptStep, attemptSteps } from '@drawbridge/shared/attempt-step.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { z } from 'zod'
import type { ClientStore } from '../clients/client.ts'
import type { GrantStore } from '../session/grant.ts'
import { hashSecret } from '../seal.ts'
import { adviceOn, failureOf, furthestOf, rankOf } from './advice.ts'
import { type AttemptStepStore, keysOf, sourceKey, type StepRecord } from './attempt.ts'

const maxStepsRead = 20_000
/** How long the next request of a client may take, and a person in front of a page. */
const clientSeconds = 60
const personSeconds = 600

/** One attempt of a client to connect, as operators see it. Times are epoch seconds. */
export const attemptSchema = z.object({
  id: z.string(),
  client: z
    .string()
    .optional()
    .describe(
      'name of the client, else its id; without one, requests of a program that named no client are counted',
    ),
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
      detail: z.string().optional().describe('the reason of a refusal, or what the step waits for'),
      user_agent: z.string().optional(),
      network: z.string().optional().describe('the /24 or /48 of the address'),
      count: z.int().optional().describe('number of such requests, of which this is the last; default: 1'),
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
  limit: number
}

export interface AttemptListPorts {
  store: AttemptStepStore & Pick<ClientStore, 'findClient'> & Pick<GrantStore, 'findGrant'>
  configured: ReadonlyMap<string, { name?: string | undefined }>
  runtime: Pick<Runtime, 'now'>
}

/** Returns the newest attempts of the last day, newest first, at most `limit`. Reads at most 20,000 steps. */
export async function readAttempts(choice: AttemptChoice, ports: AttemptListPorts): Promise<AttemptFacts[]> {
  const now = ports.runtime.now()
  const attempts = joined(await ports.store.listAttemptSteps(maxStepsRead))
  const repeated = repeatedStops(attempts)
  const facts: AttemptFacts[] = []
  const isMeant = ({ requestId }: StepRecord): boolean => (choice.request ?? requestId) === requestId
  for (const attempt of attempts.filter(({ records }) => records.some(isMeant))) {
    if (facts.length === choice.limit) break
    const found = await factsOf(attempt, now, ports)
    if (found.result === 'stopped' && !repeated.has(attempt)) found.advice = undefined
    if (isChosen(found, attempt, choice)) facts.push(found)
  }
  return facts
}

interface Attempt {
  /** The keys of its first step. */
  key: string
  first: StepRecord
  records: StepRecord[]
  clientId?: string | undefined
  signIn?: string | undefined
  /** Requests that name no client: counted, not joined. */
  isCount: boolean
}

/** Joins steps by grant, sign-in and client, and those that name no client by their source. Newest attempt first. */
function joined(newestFirst: readonly StepRecord[]): Attempt[] {
  const rows = newestFirst.toReversed().toSorted((one, other) => one.at - other.at)
  // A token request with a wrong verifier has the key of no sign-in.
  const signIns = new Set(rows.filter(({ step }) => step !== 'token').map(({ signIn }) => signIn))
  const byKey = new Map<string, Attempt>()
  const attempts = new Set<Attempt>()
  for (const record of rows) {
    const of = signIns.has(record.signIn) ? record : { ...record, signIn: undefined }
    const keys = keysOf(of)
    const isCount = keys.length === 0
    if (isCount) keys.push(sourceKey(record))
    const found = keys.map((key) => byKey.get(key)).find((each) => each && !isOther(each, of))
    const attempt = found ?? { key: keys.join(' '), first: record, records: [], isCount }
    attempt.records.push(record)
    attempt.clientId ??= of.clientId
    attempt.signIn ??= of.signIn
    for (const key of keys) byKey.set(key, attempt)
    attempts.delete(attempt)
    attempts.add(attempt)
  }
  return [...attempts].toReversed()
}

/** True when the attempt belongs to another sign-in or client, or its client already has tokens and the step is of no sign-in. */
function isOther({ records, clientId, signIn }: Attempt, of: StepRecord): boolean {
  if (of.signIn === undefined && of.grantId === undefined && has(records, 'token')) return true
  return differs(signIn, of.signIn) || differs(clientId, of.clientId)
}

function differs(known: string | undefined, given: string | undefined): boolean {
  return known !== undefined && given !== undefined && known !== given
}

function isChosen(found: AttemptFacts, { clientId }: Attempt, choice: AttemptChoice): boolean {
  if (choice.failed && found.advice === undefined) return false
  if (choice.client === undefined || clientId === choice.client) return true
  return found.client?.toLowerCase().includes(choice.client.toLowerCase()) === true
}

/**
 * Returns the stopped attempts worth advice: of clients that stopped more than once, and counted requests that went no further
 * for a minute or longer, from networks without a client.
 */
function repeatedStops(attempts: readonly Attempt[]): ReadonlySet<Attempt> {
  const known = attempts.filter(({ isCount }) => !isCount)
  const networks = new Set(known.flatMap(({ records }) => records.map(({ network }) => network)))
  const stopped = known.filter(({ records }) => isStopped(records))
  return new Set(
    attempts.filter(({ isCount, clientId, first, records }) => {
      if (!isCount) return stopped.filter((other) => other.clientId === clientId).length > 1
      const furthest = furthestOf(records)?.step
      const times = records.filter(({ step }) => step === furthest).map(({ at }) => at)
      return Math.max(...times) - Math.min(...times) >= clientSeconds && !networks.has(first.network)
    }),
  )
}

/** Counts successes and refusals that are alike; each has the time and request of its last. */
function merged(records: readonly StepRecord[]): (StepRecord & { count?: number })[] {
  const sums = new Map<string, StepRecord & { count?: number }>()
  for (const record of records) {
    const key = `${record.step} ${record.ok} ${record.detail}`
    const known = sums.get(key)
    sums.set(key, known ? { ...record, count: (known.count ?? 1) + 1 } : record)
  }
  return [...sums.values()]
}

async function factsOf(attempt: Attempt, now: number, ports: AttemptListPorts): Promise<AttemptFacts> {
  const { key, first, records, clientId, isCount } = attempt
  const seen = isCount ? merged(records) : await withCallElsewhere(records, ports)
  const result = resultOf(seen, now, isCount)
  return {
    id: hashSecret(isCount ? key : `${key} ${first.requestId}`).slice(0, 12),
    client: clientId && (await nameOf(clientId, ports)),
    started_at: first.at,
    result,
    steps: seen.map(
      ({ requestId, userAgent, clientId: _client, signIn: _signIn, grantId: _grant, ...step }) => ({
        ...step,
        request_id: requestId,
        user_agent: userAgent,
      }),
    ),
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

function resultOf(records: readonly StepRecord[], now: number, isCount: boolean): AttemptFacts['result'] {
  if (has(records, 'first_call')) return 'connected'
  const last = records.at(-1)
  const waitsForPerson = last?.ok === true && (last.step === 'page' || last.step === 'sign_in')
  const patience = waitsForPerson ? personSeconds : clientSeconds
  if (last && now - last.at < patience) return 'under_way'
  const isFailed = isCount ? failureOf(records) !== undefined : !isStopped(records)
  return isFailed ? 'failed' : 'stopped'
}

const pageRank = attemptSteps.indexOf('page')

function isStopped(records: readonly StepRecord[]): boolean {
  return records.every((each) => each.ok && rankOf(each) < pageRank)
}
