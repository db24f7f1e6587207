import { constants } from 'node:os'

/**
 * A Ctrl-C in a terminal reaches every process of it, and npm passes it on to its child once more: what comes this soon
 * is the same one.
 */
const sameMs = 500

/**
 * Resolves with the first SIGINT or SIGTERM. A further one ends the process at once, with the exit code that a shell
 * gives to that signal, after `beforeExit`: as process 1 of a container nothing would end it otherwise.
 */
export function stopSignal(beforeExit: () => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | undefined
    const hear = (signal: NodeJS.Signals): void => {
      const now = performance.now()
      firstAt ??= now
      resolve(signal)
      if (now <= firstAt + sameMs) return
      beforeExit()
      process.exit(128 + constants.signals[signal])
    }
    process.on('SIGINT', hear)
    process.on('SIGTERM', hear)
  })
}
