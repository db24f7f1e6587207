import { type AttemptStep, attemptSteps } from '@drawbridge/shared/attempt-step.ts'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlocks, addressNetwork } from '../address-block.ts'
import { BoundedMap } from '../bounded-map.ts'
import { attemptBytes } from '../limits/limit-table.ts'
import { RateLimit } from '../limits/rate-limit.ts'
import { hashSecret } from '../seal.ts'
import { attemptSeconds, type AttemptStepStore, type StepRecord, type StoredStep } from './attempt.ts'

/** Maximum number of remembered keys; an attempt has up to five. */
const maxKeys = 5000
const maxSteps = 40
/** Steps that wait to be stored. Beyond that they are dropped: diagnosis must not hold up what it looks at. */
const maxUnwritten = 2000
/** How long requests of one address and program count as one attempt. */
const peerSeconds = 120
const maxUserAgentLength = 120
/** A longer id is that of no client here. */
const maxClientIdLength = 500

/** A step of a client as one request shows it. */
export interface Sighting extends Pick<StepRecord, 'step' | 'status' | 'ok' | 'requestId' | 'detail'> {
  userAgent: string | undefined
  address: string | undefined
  clientId?: string | undefined
  signIn?: string | undefined
  grantId?: string | undefined
}

interface OpenAttempt {
  id: string
  seenAt: number
  clientId?: string | undefined
  signIn?: string | undefined
  steps: Set<string>
  reached: Set<AttemptStep>
  /** A step with its client is stored. */
  isNamed: boolean
}

interface Found {
  attempt: OpenAttempt
  probably: boolean
}

/** Returns the key of a sign-in that every instance derives alike, from the code challenge or the hash of a device's code. */
export function signInKey(of: string): string {
  return hashSecret(`attempt ${of}`).slice(0, 16)
}

const pageIndex = attemptSteps.indexOf('page')
const beforeThePage = new Set<AttemptStep>(attemptSteps.slice(0, pageIndex))
// A refused token may be an old one.
const beginsNothing = new Set<AttemptStep>(['first_call', 'list'])

/**
 * Joins the requests by which a client connects into attempts, and stores their steps. A step is joined by its grant, its sign-in,
 * or its registered client; before there is one by address, program and time, and then it is marked `probably`. A step that succeeds
 * again counts once. Takes a few map lookups a request; steps are written by {@link AttemptBook.flush}.
 *
 * Stores as many bytes for each address, and for all together, as {@link attemptBytes} allows. Steps after a sign-in are always stored.
 *
 * A store failure loses steps and nothing else. Each instance joins what it sees itself; {@link readAttempts} joins the rest.
 */
export class AttemptBook {
  readonly #ports: { store: AttemptStepStore; runtime: Pick<Runtime, 'now' | 'randomBytes'> }
  readonly #open = new BoundedMap<OpenAttempt>(maxKeys)
  readonly #limit = new RateLimit(attemptBytes.perAddress, maxKeys)
  #newest: OpenAttempt | undefined
  #unwritten: StoredStep[] = []

  constructor(ports: { store: AttemptStepStore; runtime: Pick<Runtime, 'now' | 'randomBytes'> }) {
    this.#ports = ports
  }

  /** True while calls with tokens of this grant belong to an attempt. */
  isWaiting(grantId: string): boolean {
    return this.#open.get(grantKey(grantId)) !== undefined
  }

  note(given: Sighting): void {
    const now = this.#ports.runtime.now()
    const peer = peerKey(given)
    const seen = this.#withKnownKey(withoutLongId(given))
    const keys = keysOf(seen)
    const found = this.#findByKey(keys, seen) ?? this.#findByPeer(peer, seen, now)
    if (!found && beginsNothing.has(seen.step)) return
    const { attempt, probably } = found ?? { attempt: this.#begin(now), probably: false }
    this.#link(attempt, [...keys, peer], seen, now)
    if (!isNews(attempt, seen)) return
    this.#store(attempt, recordOf(seen, now, probably), seen.address)
    if (attempt.reached.has('list') && seen.grantId !== undefined) this.#open.delete(grantKey(seen.grantId))
  }

  async flush(): Promise<void> {
    if (this.#unwritten.length === 0) return
    const steps = this.#unwritten
    this.#unwritten = []
    await this.#ports.store.addAttemptSteps(steps, this.#ports.runtime.now() + attemptSeconds)
  }

  /** A token request with a wrong verifier has the key of no sign-in. */
  #withKnownKey(seen: Sighting): Sighting {
    if (seen.ok || seen.step !== 'token' || this.#open.get(`sign-in ${seen.signIn}`)) return seen
    return { ...seen, signIn: undefined }
  }

  #findByKey(keys: readonly string[], seen: Sighting): Found | undefined {
    for (const key of keys) {
      const attempt = this.#open.get(key)
      if (attempt && !isOther(attempt, seen)) return { attempt, probably: false }
    }
    return undefined
  }

  #findByPeer(key: string, seen: Sighting, now: number): Found | undefined {
    if (seen.grantId !== undefined) return undefined
    const isRecent = (attempt: OpenAttempt | undefined): boolean =>
      attempt !== undefined && now - attempt.seenAt <= peerSeconds
    const peer = this.#open.get(key)
    if (peer && isRecent(peer) && !isOther(peer, seen) && !isOver(peer, seen))
      return { attempt: peer, probably: true }
    // A client whose servers, not its user's browser, read the metadata.
    const newest = this.#newest
    const mayBe = newest && isRecent(newest) && newest.clientId === undefined && !newest.reached.has('page')
    return mayBe && opensPage(seen) ? { attempt: newest, probably: true } : undefined
  }

  #begin(now: number): OpenAttempt {
    const id = encodeBase64url(this.#ports.runtime.randomBytes(9))
    return { id, seenAt: now, steps: new Set(), reached: new Set(), isNamed: false }
  }

  /** Keeps a step to be written, with its client once in an attempt. */
  #store(attempt: OpenAttempt, record: StepRecord, address: string | undefined): void {
    if (this.#unwritten.length >= maxUnwritten) return
    const { clientId, ...rest } = record
    const step = { attempt: attempt.id, record: attempt.isNamed ? rest : record }
    const isSignedIn = attempt.reached.has('code') || attempt.reached.has('token')
    if (!isSignedIn && !this.#mayStore(JSON.stringify(step).length, record.at, address)) return
    attempt.isNamed ||= clientId !== undefined
    this.#unwritten.push(step)
  }

  /** Counts bytes for the blocks of an address and for all, unless one of them has no more left. */
  #mayStore(bytes: number, now: number, address: string | undefined): boolean {
    const { perAddress, everyone } = attemptBytes
    const shares = [
      { name: 'everyone', rate: everyone },
      ...(address === undefined ? [] : addressBlocks(address)).map(({ name, factor }) => ({
        name: `of ${name}`,
        rate: { burst: perAddress.burst * factor, perSecond: perAddress.perSecond * factor },
      })),
    ]
    if (shares.some(({ name, rate }) => this.#limit.isSpent(name, now, bytes, rate))) return false
    for (const { name, rate } of shares) this.#limit.take(name, now, bytes, rate)
    return true
  }

  #link(attempt: OpenAttempt, keys: readonly string[], seen: Sighting, now: number): void {
    attempt.seenAt = now
    attempt.clientId ??= seen.clientId
    attempt.signIn ??= seen.signIn
    if (seen.step === 'server_metadata' && seen.ok) this.#newest = attempt
    for (const key of keys) {
      if (this.#open.get(key) !== attempt) this.#open.set(key, attempt)
    }
  }
}

function withoutLongId(seen: Sighting): Sighting {
  return seen.clientId !== undefined && seen.clientId.length > maxClientIdLength
    ? { ...seen, clientId: undefined }
    : seen
}

/** Adds a step to what is known of an attempt. Returns whether that is worth storing. */
function isNews({ steps, reached }: OpenAttempt, { step, ok, detail = '' }: Sighting): boolean {
  const mark = `${step} ${detail}`
  if (steps.size >= maxSteps || (ok && steps.has(mark))) return false
  steps.add(ok ? mark : `${mark} ${steps.size}`)
  if (ok) reached.add(step)
  return true
}

/** True when the attempt already belongs to another sign-in or client. */
function isOther({ clientId, signIn }: OpenAttempt, seen: Sighting): boolean {
  return differs(signIn, seen.signIn) || differs(clientId, seen.clientId)
}

function differs(known: string | undefined, given: string | undefined): boolean {
  return known !== undefined && given !== undefined && known !== given
}

/** A client that is connected, and begins again. */
function isOver({ reached }: OpenAttempt, { step }: Sighting): boolean {
  return reached.has('first_call') && beforeThePage.has(step)
}

function opensPage({ step }: Sighting): boolean {
  return step === 'page' || step === 'client'
}

function grantKey(grantId: string): string {
  return `grant ${grantId}`
}

/** Returns the keys that prove which attempt a step belongs to, the surest first. */
function keysOf({ grantId, signIn, clientId }: Sighting): string[] {
  const keys: string[] = []
  if (grantId !== undefined) keys.push(grantKey(grantId))
  if (signIn !== undefined) keys.push(`sign-in ${signIn}`)
  if (clientId !== undefined) keys.push(`client ${clientId}`)
  return keys
}

function peerKey({ address = '', userAgent = '' }: Sighting): string {
  return `peer ${addressBlocks(address)[0]?.name} ${userAgent.slice(0, maxUserAgentLength)}`
}

function recordOf(seen: Sighting, at: number, probably: boolean): StepRecord {
  const { address, userAgent, ...record } = seen
  return {
    ...record,
    at,
    userAgent: userAgent?.slice(0, maxUserAgentLength),
    network: address === undefined ? undefined : addressNetwork(address),
    ...(probably && { probably }),
  }
}
