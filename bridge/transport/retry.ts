import type { Envelope, WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { NetworkError } from '../http/http-client.ts'
import { TransportError } from './transport.ts'
import type { TransportPorts } from './transport.ts'

// The one place that decides whether a message is sent again, and when. A call that may have been executed never is.

const repeatable: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
])

/** Whether a message may reach the server twice without harm: it only reads, or says the same thing again. */
export function isRepeatable(envelope: Envelope): boolean {
  if (envelope.kind === 'notification') return true
  return envelope.kind === 'request' && repeatable.has(envelope.method)
}

const firstWaitMs = 100
const maxWaitMs = 1000

/** A server that breaks off each time does so for a reason. */
const maxBreaks = 3

/** The retries of one message: all attempts together take `retryMs` at most. */
export class Retries {
  readonly #isRepeatable: boolean
  readonly #retryMs: number
  readonly #ports: Pick<TransportPorts, 'runtime' | 'note'>
  readonly #signal: AbortSignal | undefined
  readonly #started = performance.now()
  #failures = 0

  constructor(
    request: { repeatable: boolean; retryMs: number; signal: AbortSignal | undefined },
    ports: Pick<TransportPorts, 'runtime' | 'note'>,
  ) {
    this.#isRepeatable = request.repeatable
    this.#retryMs = request.retryMs
    this.#signal = request.signal
    this.#ports = ports
  }

  /** No response: whether to send again now. A message that was never sent may always be sent again. */
  async afterFailure(error: unknown): Promise<boolean> {
    if (!(error instanceof NetworkError) || error.fault === 'aborted') return false
    // These stay as they are however often one asks.
    if (error.fault === 'tls' || error.fault === 'protocol') return false
    if (error.sent && !this.#isRepeatable) return false
    if (!(await this.#wait(0))) return false
    this.#ports.note(`sending again after: ${error.fault}`)
    return true
  }

  /** The server says that it is away or busy: whether to send again now. What was limited was not executed. */
  async afterAbsence({ fault, status, retryAfterSeconds = 0 }: TransportError): Promise<boolean> {
    const mayRepeat = fault === 'rate_limited' || (fault === 'unavailable' && this.#isRepeatable)
    if (!mayRepeat || !(await this.#wait(retryAfterSeconds * 1000))) return false
    this.#ports.note(`sending again after status ${status}`)
    return true
  }

  /** Waits as long as the server asked for, else a little longer each time. `false`: it is too late. */
  async #wait(askedMs: number): Promise<boolean> {
    const { runtime } = this.#ports
    const ms = Math.max(backoffMs(runtime, this.#failures, firstWaitMs, maxWaitMs), askedMs)
    this.#failures += 1
    if (performance.now() - this.#started + ms > this.#retryMs) return false
    await pause(runtime, ms, this.#signal)
    return this.#signal?.aborted !== true
  }
}

/**
 * Whether to ask again whose response began and did not arrive whole, `breaks` times before: resolves with true after a
 * wait. Never for `tools/call`, which may have done its work, nor for a subscription, whose client has to know that it
 * missed something.
 */
export async function mayAskAgain(
  error: unknown,
  { envelope }: WireMessage,
  breaks: number,
  retryMs: number,
  ports: Pick<TransportPorts, 'runtime' | 'note'> & { signal: AbortSignal },
): Promise<boolean> {
  const { runtime, note, signal } = ports
  if (!isBrokenOff(error) || envelope.kind !== 'request') return false
  if (!isRepeatable(envelope) || envelope.method === 'subscriptions/listen') return false
  if (breaks >= maxBreaks || retryMs === 0 || signal.aborted) return false
  note('an answer broke off: asking again')
  await pause(runtime, backoffMs(runtime, breaks, firstWaitMs, maxWaitMs), signal)
  return !signal.aborted
}

/** A server that was silent for too long, or that speaks no HTTP, does not change by asking. */
function isBrokenOff(error: unknown): boolean {
  if (error instanceof NetworkError) return error.fault === 'reset'
  return error instanceof TransportError && error.fault === 'lost'
}

/** Resolves after that time, or as soon as the signal is aborted, whichever is first. */
export async function pause(
  runtime: Pick<Runtime, 'sleep'>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (signal === undefined) return runtime.sleep(ms)
  if (signal.aborted) return
  let stop = (): void => {}
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
  })
  signal.addEventListener('abort', stop, { once: true })
  await Promise.race([runtime.sleep(ms), aborted])
  signal.removeEventListener('abort', stop)
}

/** The wait after that many failures in a row: twice as long each time, up to `maxMs`, minus up to a quarter by chance. */
export function backoffMs(
  runtime: Pick<Runtime, 'randomBytes'>,
  failures: number,
  firstMs: number,
  maxMs: number,
): number {
  const chance = (runtime.randomBytes(1)[0] ?? 0) / 255
  return Math.min(firstMs * 2 ** failures, maxMs) * (1 - chance / 4)
}

const minStreamWaitMs = 20
const maxStreamWaitMs = 300_000
const patientTurns = 5
const maxIdleWaitMs = 5000

/**
 * The wait before a stream is opened again whose server asked for that many milliseconds: neither none for ever, nor hours.
 * `idleTurns` is how often in a row the server has ended the stream at once, with nothing in it: a server that goes on
 * like that gets a request every few seconds, whatever it asks for.
 */
export function streamWaitMs(askedMs: number, idleTurns: number): number {
  const wished = Math.min(Math.max(askedMs, minStreamWaitMs), maxStreamWaitMs)
  const turns = idleTurns - patientTurns
  return turns < 0 ? wished : Math.max(wished, Math.min(minStreamWaitMs * 2 ** turns, maxIdleWaitMs))
}

/** A stream that ended sooner than that, and was empty, was no stream. */
export const shortTurnMs = 1000

/** Resolves when the work is over, however it ends, and at the latest after that time. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}
