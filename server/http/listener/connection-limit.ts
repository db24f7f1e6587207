import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { maxHeaderBytes } from './request-fault.ts'

/** More would only wait for a processor. */
const maxConnections = 8192
/** Enough for one reverse proxy and the streams of a few users. */
const minConnections = 128

/** The memory that a process may take, in bytes. */
export interface ProcessMemory {
  /** Of the machine or, where that is less, of its container. */
  total: number
  /** Of the JavaScript heap. */
  heap: number
}

/**
 * How many connections may be open: as many as can all send headers of the largest size and never end them, before they take
 * a quarter of the memory or half of the heap. At least 128, at most 8192.
 */
export function connectionLimit({ total, heap }: ProcessMemory = processMemory()): number {
  const affordable = Math.floor(Math.min(total / 4, heap / 2) / maxHeaderBytes)
  return Math.min(maxConnections, Math.max(minConnections, affordable))
}

function processMemory(): ProcessMemory {
  const machine = totalmem()
  // 0 without a limit; some systems name one that no machine has.
  const container = process.constrainedMemory()
  const total = container > 0 ? Math.min(container, machine) : machine
  return { total, heap: getHeapStatistics().heap_size_limit }
}
