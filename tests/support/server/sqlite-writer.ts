import { writeSync } from 'node:fs'
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts'
import { addGrant, grantSample, rotationTerms, start, successorSample } from './core/grant-sample.ts'

/*
 * Writes grants into the database of its first argument, fifty at a time, each rotated once, and prints the name of
 * each that has resolved. Names begin with the second argument. Runs until it is killed.
 */
const [path = '', round = ''] = process.argv.slice(2)
const store = openSqliteStore(path)
let next = 0

async function write(): Promise<never> {
  for (;;) {
    const name = `${round}-${next}`
    next += 1
    const { tokens } = await addGrant(store, grantSample(name))
    const options = rotationTerms(start)
    await store.rotateRefreshToken(tokens.refreshHash, successorSample(`${name} 2`), options)
    // Synchronously: every printed name has resolved, and none that has resolved is still waiting to be printed.
    writeSync(1, `${name}\n`)
  }
}

await Promise.all(Array.from({ length: 50 }, write))
