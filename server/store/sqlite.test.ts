import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { openSqliteStore } from './sqlite.ts'
import { describeStore } from './store-contract.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-store-'))
  folders.push(folder)
  return folder
}

describeStore('sqlite', async () => {
  const path = join(temporaryFolder(), 'server.db')
  let store = openSqliteStore(path)
  return {
    store,
    async reopen() {
      await store.close()
      store = openSqliteStore(path)
      return store
    },
  }
})
