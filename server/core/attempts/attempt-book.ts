import type { AttemptStep } from '@drawbridge/shared/attempt-step.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlocks, addressNetwork } from '../address-block.ts'
import { BoundedMap } from '../bounded-map.ts'
import { attemptBytes } from '../limits/limit-table.ts'
import { type Rate, RateLimit } from '../limits/rate-limit.ts'
import { hashSecret } from '../seal.ts'
import { attemptSeconds, type AttemptStepStore, keysOf, sourceKey, type StepRecord } from './attempt.ts'

/** Maximum number of sign-ins remembered; each has up to two keys. */
const maxKeys = 5000
/** Maximum steps of one sign-in. */
const maxSteps = 40
/** Maximum steps waiting to be stored; further ones are dropped. */
const maxUnwritten = 2000
/** How often a success that names no client is stored, so that probes leave room for other steps of their address. */
const countRate: Rate = { burst: 10, perSecond: 1 / 60 }
const maxUserAgentLength = 120
/** No client here has a longer id. */
const maxClientIdLength = 500
/** Tokens and secrets of this server, which people paste where a client id belongs. */
const secretForm = /\bmcp[abd-z]_[\w-]{20}/

/** A step of a client as one request shows it. */
export interface SeenStep extends Pick<
  StepRecord,
  'step' | 'status' | 'ok' | 'requestId' | 'detail' | 'clientId' | 'signIn' | 'grantId'
> {
  userAgent: string | undefined
  address: string | undefined
}

interface OpenSignIn {
  marks: Set<string>
  reached: Set<AttemptStep>
  /** A step with its client is stored. */
  isNamed: boolean
}

/** Returns the key of a sign-in that every instance derives alike, from the code challenge or the hash of a device's code. */
export function signInKey(of: string): string {
  return hashSecret(`attempt ${of}`).slice(0, 16)
}

/**
 * Stores the steps of clients that connect, with their grant, sign-in and client; {@link readAttempts} joins them. Of requests that
 * name no client it stores every refusal and, of successes, few a minute. A step of a sign-in that succeeds again counts once. Takes a few map lookups a request;
 * {@link AttemptBook.flush} writes the steps.
 *
 * Anyone can start an attempt, so storage is limited: {@link attemptBytes} for each address and for all. Sign-ins that have
 * their code are always stored.
 *
 * A store failure loses steps and nothing else.
 */
export class AttemptBook {
  readonly #ports: { store: AttemptStepStore; runtime: Pick<Runtime, 'now'> }
  readonly #open = new BoundedMap<OpenSignIn>(maxKeys)
  readonly #limit = new RateLimit(attemptBytes.perAddress, maxKeys)
  #unwritten: StepRecord[] = []
  readonly #counts = new RateLimit(countRate, maxKeys)

  constructor(ports: { store: AttemptStepStore; runtime: Pick<Runtime, 'now'> }) {
    this.#ports = ports
  }

  note(given: SeenStep): void {
    // A refused or later call begins no attempt: its token may be an old one.
    const isCall = given.step === 'first_call' || given.step === 'list'
    if (isCall && !this.#open.get(`grant ${given.grantId}`)) return
    const seen = recordOf(given, this.#ports.runtime.now())
    const signIn = this.#signInOf(seen)
    if (signIn) {
      if (!isNews(signIn, seen)) return
      if (signIn.isNamed) delete seen.clientId
      if (this.#store(seen, given.address, signIn)) signIn.isNamed ||= seen.clientId !== undefined
      if (signIn.reached.has('list')) this.#open.delete(`grant ${seen.grantId}`)
    } else if (!this.#isTooOften(seen)) this.#store(seen, given.address)
  }

  async flush(): Promise<void> {
    if (this.#unwritten.length === 0) return
    const steps = this.#unwritten
    this.#unwritten = []
    await this.#ports.store.addAttemptSteps(steps, this.#ports.runtime.now() + attemptSeconds)
  }

  /** Returns the open sign-in of a step. The first success with a sign-in or grant opens it. */
  #signInOf(seen: StepRecord): OpenSignIn | undefined {
    const keys = keysOf({ ...seen, clientId: undefined })
    let signIn = keys.map((key) => this.#open.get(key)).find((each) => each !== undefined)
    if (!signIn && (!seen.ok || keys.length === 0)) return undefined
    signIn ??= { marks: new Set(), reached: new Set(), isNamed: false }
    for (const key of keys) this.#open.set(key, signIn)
    return signIn
  }

  /** True for a success that names no client and comes too often. */
  #isTooOften(seen: StepRecord): boolean {
    if (!seen.ok || keysOf(seen).length > 0) return false
    const key = `${sourceKey(seen)} ${seen.step}`
    const isSpent = this.#counts.isSpent(key, seen.at)
    if (!isSpent) this.#counts.take(key, seen.at)
    return isSpent
  }

  /** Returns whether the step waits to be written. */
  #store(step: StepRecord, address: string | undefined, { reached }: Partial<OpenSignIn> = {}): boolean {
    if (this.#unwritten.length >= maxUnwritten) return false
    const isSignedIn = reached?.has('code') || reached?.has('token')
    if (!isSignedIn && !this.#mayStore(JSON.stringify(step).length, step.at, address)) return false
    this.#unwritten.push(step)
    return true
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
}

/** Adds a step to a sign-in. Returns whether it is worth storing. */
function isNews({ marks, reached }: OpenSignIn, { step, ok, detail = '' }: StepRecord): boolean {
  const mark = `${step} ${detail}`
  if (marks.size >= maxSteps || (ok && marks.has(mark))) return false
  marks.add(ok ? mark : `${mark} ${marks.size}`)
  if (ok) reached.add(step)
  return true
}

function recordOf({ address, userAgent, clientId = '', ...seen }: SeenStep, at: number): StepRecord {
  const isId = clientId !== '' && clientId.length <= maxClientIdLength && !secretForm.test(clientId)
  return {
    ...seen,
    ...(isId && { clientId }),
    at,
    userAgent: userAgent?.slice(0, maxUserAgentLength),
    network: address === undefined ? undefined : addressNetwork(address),
  }
}
