import { atMost } from './interruptible-pause.ts'

/** Holds messages back until the server has accepted `notifications/initialized`. */
export interface OpeningGate {
  /** Closed until this is over, however it ends, and for ten seconds at most. */
  holdUntil(confirming: Promise<void>): void
  /** Undefined while the gate is open, so that nobody waits for nothing. */
  opened(): Promise<void> | undefined
}

const mostWaitMs = 10_000

/** Clients send their first requests right behind it, and Python servers answer with an error what overtakes it. */
export function createOpeningGate(): OpeningGate {
  let opening: Promise<void> | undefined

  async function hold(confirming: Promise<void>): Promise<void> {
    const wait = atMost(mostWaitMs, confirming)
    opening = wait
    await wait
    if (opening === wait) opening = undefined
  }

  return {
    holdUntil: (confirming) => void hold(confirming),
    opened: () => opening,
  }
}
