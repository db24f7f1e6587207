const heldCodes = new Set<unknown>(['EPERM', 'EACCES', 'EBUSY'])

/**
 * Repeats work on a file for up to a second on Windows, which refuses to replace or remove a file that another program has open at
 * the moment: a virus scanner, a backup, another process of ours. Blocks meanwhile. Throws the last error.
 */
export function whileHeld<Value>(platform: string, work: () => Value): Value {
  for (let waitMs = 1; ; waitMs *= 2) {
    try {
      return work()
    } catch (error) {
      const isHeld = platform === 'win32' && heldCodes.has((error as { code?: unknown }).code)
      if (!isHeld || waitMs > 512) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs)
    }
  }
}
