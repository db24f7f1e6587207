import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { maxHeaderBytes } from '../request-limits.ts'

/** More connections would only wait for a CPU. */
const maxConnections = 8192
/** Enough for one reverse proxy and the streams of a few users. */
const minConnections = 128

/** Memory available to the process, in bytes. */
interface ProcessMemory {
  /** Memory of the machine or, if that is less, of its container. */
  total: number
  /** Limit of the JavaScript heap. */
  heap: number
}

/**
 * Computes the maximum number of open connections: as many as can all send headers of the largest size without ending them before
 * they use a quarter of the memory or half of the heap. At least 128, at most 8192.
 */
export function connectionLimit({ total, heap }: ProcessMemory = processMemory()): number {
  const affordable = Math.floor(Math.min(total / 4, heap / 2) / maxHeaderBytes)
  return Math.min(maxConnections, Math.max(minConnections, affordable))
}

function processMemory(): ProcessMemory {
  const machine = totalmem()
  // 0 without a limit; some systems report one larger than any machine.
  const container = process.constrainedMemory()
  const total = container > 0 ? Math.min(container, machine) : machine
  return { total, heap: getHeapStatistics().heap_size_limit }
}
