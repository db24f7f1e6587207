import { constants } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { noFollow, nonBlocking } from './private-file-read.ts'
import { ownProcessMark, type ProcessState, stateOfProcess } from './process-mark.ts'

const maxBytes = 1000

/**
 * Writes down beside a lock which process has it, for {@link stateOfHolder}. `lease` names the lock as it was taken. Never
 * rejects: without the file whoever waits has to watch the lock.
 */
export async function writeHolder(path: string, lease: string): Promise<void> {
  const mark = ownProcessMark()
  if (mark === undefined) return
  const { O_CREAT, O_TRUNC, O_WRONLY } = constants
  try {
    const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | noFollow, 0o600)
    try {
      await file.writeFile(JSON.stringify({ lease, process: mark }))
    } finally {
      await file.close()
    }
  } catch {
    // A full disk must not keep anybody from the lock.
  }
}

/** To be called by who has the lock. Never rejects. */
export async function removeHolder(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined)
}

/** What became of the process that took that lock; `unknown` when it did not say, or when the file is of an earlier one. */
export async function stateOfHolder(path: string, lease: string): Promise<ProcessState> {
  const text = await readSmall(path)
  const { lease: named, process: mark } = (text === undefined ? undefined : parseJsonObject(text)) ?? {}
  return named === lease && typeof mark === 'string' ? stateOfProcess(mark) : 'unknown'
}

async function readSmall(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | noFollow | nonBlocking)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}
