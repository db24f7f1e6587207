import { expect } from 'vitest'
import type { AttemptFacts } from '../../server/core/attempts/attempt-list.ts'
import { until } from '../support/until.ts'
import { runCommand } from './command-process.ts'
import type { ServerProcess } from './server-process.ts'

/** Reads the attempts with the command, as an operator does a quarter of an hour later. */
export async function readAttempts(
  server: ServerProcess,
  argv: readonly string[] = [],
): Promise<AttemptFacts[]> {
  const { code, stdout } = await runCommand(server, ['attempts', '--json', ...argv], { aheadSeconds: 900 })
  expect(code).toBe(0)
  return JSON.parse(stdout) as AttemptFacts[]
}

/** Expects that every client which got tokens is connected, and was never told to look at anything. */
export async function expectAllConnected(server: ServerProcess, least: number): Promise<void> {
  const withTokens = async (): Promise<AttemptFacts[]> =>
    (await readAttempts(server)).filter(({ steps }) => steps.some(({ step, ok }) => step === 'token' && ok))
  let attempts: AttemptFacts[] = []
  await until(async () => {
    attempts = await withTokens()
    return attempts.length >= least && attempts.every(({ result }) => result === 'connected')
  }, 'the last steps')
  expect(attempts.filter(({ advice }) => advice !== undefined)).toEqual([])
}
