import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { checkIntegrity, useDatabaseFiles } from '../../../tests/support/server/database-file.ts'
import {
  grantSample,
  rotationTerms,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import { openSqliteStore } from './sqlite.ts'

const rounds = 4
const writer = fileURLToPath(new URL('../../../tests/support/server/sqlite-writer.ts', import.meta.url))

const newFile = useDatabaseFiles()
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Runs the writer on `path` until it has printed `enough` names, kills it, and returns all printed names. */
async function writeUntilKilled(path: string, round: number, enough: number): Promise<string[]> {
  const child = spawn(process.execPath, [writer, path, `${round}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const exited = once(child, 'exit')
  let said = ''
  let lines = 0
  for await (const chunk of child.stdout) {
    const text = String(chunk)
    said += text
    lines += text.split('\n').length - 1
    if (lines >= enough) child.kill('SIGKILL')
  }
  await exited
  expect(child.signalCode).toBe('SIGKILL')
  // The last line may be incomplete.
  return said.split('\n').slice(0, -1)
}

it(
  'a killed process loses nothing that has resolved, at any moment, with fifty writers',
  { timeout: 60_000 },
  async () => {
    const path = newFile(tmpdir())
    const acknowledged: string[] = []
    // Any numbers work, as long as they are the same in every run.
    for (let round = 0; round < rounds; round += 1) {
      acknowledged.push(...(await writeUntilKilled(path, round, 1 + ((round * 7919 + 104_729) % 200))))
      expect(checkIntegrity(path)).toBe('ok')
    }
    expect(acknowledged.length).toBeGreaterThan(100)

    const store = openSqliteStore(path)
    for (const name of acknowledged) {
      const { grant, session, tokens } = grantSample(name)
      expect(await store.findProviderSession(grant.id)).toEqual(session)
      expect(await store.findAccessToken(`access ${name} 2`, start)).toMatchObject({ grant })
      expect(
        await store.rotateRefreshToken(tokens.refreshHash, successorSample('x'), rotationTerms(start)),
      ).toMatchObject({ kind: 'replayed', sealedTokens: `sealed pair ${name} 2` })
    }
    await store.close()
  },
)
