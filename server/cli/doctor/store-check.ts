import { fail, findingsOf, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { generatedKid, storeName } from '../../config/store-address.ts'
import { isLive } from '../../core/session/grant-pages.ts'
import type { Store } from '../../core/store.ts'
import { openStore } from '../../startup/open-store.ts'
import { postgresMigrations } from '../../store/postgres/postgres-schema.ts'
import { sqliteMigrations } from '../../store/sqlite/sqlite-schema.ts'
import { askPostgres, postgresChecks } from './postgres-check.ts'
import { readSqlite, sqliteChecks } from './sqlite-check.ts'

/** Findings about the store. `isRunning`: a server uses it; undefined if unknown. */
export interface StoreReport {
  findings: Finding[]
  isRunning: boolean | undefined
}

/** What the store is checked against. */
export interface StoreUse {
  /** The key ring; undefined: it cannot be read. */
  kids: readonly string[] | undefined
  now: number
}

/** Checks that the store can be used, that these keys open everything in it, and that its users are this provider's. */
export async function checkStore(
  config: Pick<ServerConfig, 'store' | 'providerIssuer'>,
  use: StoreUse,
): Promise<StoreReport> {
  const { store } = config
  const only = (outcome: Outcome): StoreReport => ({
    findings: [{ name: 'store', ...outcome }],
    isRunning: undefined,
  })
  try {
    switch (store.kind) {
      case 'memory':
        return only(
          warn(
            'Everything is in memory: all connections end with the server.',
            'Set DRAWBRIDGE_STORE=sqlite:PATH, or postgres://... for several servers.',
          ),
        )
      case 'sqlite': {
        const facts = readSqlite(store.path)
        const contents = await checkContents(config, facts.schema, sqliteMigrations.length, use)
        return { findings: [...findingsOf(sqliteChecks, facts), ...contents], isRunning: facts.isRunning }
      }
      case 'postgres': {
        const facts = await askPostgres(store.url)
        const schema = facts.isStandby ? undefined : facts.schema
        const contents = await checkContents(config, schema, postgresMigrations.length, use)
        return { findings: [...findingsOf(postgresChecks, facts), ...contents], isRunning: undefined }
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    return only(
      fail(
        `${storeName(store)} cannot be used: ${reason.replace(/\.$/, '')}.`,
        'Check DRAWBRIDGE_STORE, and that this machine and this account may use it; then run doctor again.',
      ),
    )
  }
}

/** Checks the schema, and the contents only if it is the newest: opening an older store would update it. */
async function checkContents(
  { store: address, providerIssuer }: Pick<ServerConfig, 'store' | 'providerIssuer'>,
  schema: number | undefined,
  newest: number,
  { kids, now }: StoreUse,
): Promise<Finding[]> {
  if (schema === undefined) return []
  const findings: Finding[] = [{ name: 'store-schema', ...checkSchema(schema, newest) }]
  if (schema !== newest || kids === undefined) return findings
  const store = openStore(address, { shared: true })
  try {
    const keys = await checkSealingKeys(kids, store)
    const other = keys.state === 'fail' ? undefined : await checkProviderOfGrants(store, providerIssuer, now)
    return [
      ...findings,
      { name: 'sealing-keys', ...keys },
      ...(other ? [{ name: 'other-provider', ...other }] : []),
    ]
  } finally {
    await store.close()
  }
}

/**
 * Compares the keys that seal the store's sessions with `kids`, the ids in the key ring. New sessions are sealed with the first.
 *
 * @internal
 */
export async function checkSealingKeys(
  kids: readonly string[],
  store: Pick<Store, 'listSealingKeys'>,
): Promise<Outcome> {
  const used = await store.listSealingKeys()
  const missing = used.filter((kid) => !kids.includes(kid))
  if (missing.length > 0) {
    const isTrial = missing.every((kid) => kid === generatedKid)
    return fail(
      `The store holds sessions encrypted with ${missing.map((kid) => `\`${kid}\``).join(', ')}, which the key ring lacks: their clients get 503.`,
      isTrial
        ? 'They are from a trial in this store. Set DRAWBRIDGE_STORE to a new one: users then sign in again.'
        : 'Put it back at the end of the key ring; drawbridge-server keys list shows what it encrypted.',
    )
  }
  const old = used.filter((kid) => kid !== kids[0])
  if (old.length > 0) {
    const message = `Some stored sessions are still encrypted with older keys: ${old.join(', ')}.`
    return warn(message, 'drawbridge-server keys rotate')
  }
  return ok(
    used.length === 0
      ? 'No session is stored yet.'
      : `Every stored session is encrypted with the key \`${kids[0]}\`.`,
  )
}

/** Looks at the first connections only: with a wrong provider setting all are foreign. */
async function checkProviderOfGrants(
  store: Pick<Store, 'listGrants'>,
  issuer: string,
  now: number,
): Promise<Outcome | undefined> {
  const records = await store.listGrants(undefined, { after: '', limit: 1000 })
  const foreign = records.find(
    (record) => isLive(record, now) && !record.grant.user.id.startsWith(`${issuer}#`),
  )
  if (foreign === undefined) return undefined
  const other = foreign.grant.user.id.replace(/#.*/, '')
  return fail(
    `The store holds connections of another provider, ${other}: their clients get 503.`,
    'Correct DRAWBRIDGE_PROVIDER_URL; if the provider was changed on purpose, or these are from a trial, set DRAWBRIDGE_STORE to a new store: users then sign in again.',
  )
}

function checkSchema(found: number, newest: number): Outcome {
  if (found === newest) return ok(`Schema ${found}, the newest.`)
  const next = 'the next start, or drawbridge-server migrate,'
  return ok(
    found === 0 ? `No schema yet: ${next} creates it.` : `Schema ${found}: ${next} brings it to ${newest}.`,
  )
}
