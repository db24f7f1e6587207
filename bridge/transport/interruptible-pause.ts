import type { Runtime } from '@drawbridge/shared/runtime.ts'

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

/** How long to wait after that many failures in a row: twice as long each time, up to the most, minus up to a quarter by chance. */
export function backoffMs(
  runtime: Pick<Runtime, 'randomBytes'>,
  failures: number,
  firstMs: number,
  mostMs: number,
): number {
  const chance = (runtime.randomBytes(1)[0] ?? 0) / 255
  return Math.min(firstMs * 2 ** failures, mostMs) * (1 - chance / 4)
}

/** Resolves when the work is over, however it ends, and at the latest after that time. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work.catch(() => {}), late])
  clearTimeout(timer)
}

/**
 * How long to stay away before a stream is opened again, when its server asked for that many milliseconds: as it wishes, but
 * neither at once for ever, nor for hours. `idleTurns` is how often in a row it has ended the stream at once, with nothing in
 * it: a server that goes on so gets a request every few seconds, whatever it asks for.
 */
export function politeMs(askedMs: number, idleTurns: number): number {
  const wished = Math.min(Math.max(askedMs, shortestMs), longestMs)
  const turns = idleTurns - patientTurns
  return turns < 0 ? wished : Math.max(wished, Math.min(shortestMs * 2 ** turns, longestIdleMs))
}

const shortestMs = 20
const longestMs = 300_000
const patientTurns = 5
const longestIdleMs = 5000

/** A stream that ends sooner than that, and was empty, was no stream. */
export const shortTurnMs = 1000
