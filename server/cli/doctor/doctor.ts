import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { keySourceOf } from '../../config/store-address.ts'
import { openProvider } from '../../startup/open-provider.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { readUpstream } from '../../config/upstream-file.ts'
import type { FileFault } from '../../config/setting-file.ts'
import { askBaseUrl, checkBaseUrl, checkTransport } from './base-url-check.ts'
import { checkClock } from './clock-check.ts'
import { checkCookieName, checkCookieReach } from './cookie-check.ts'
import { type Finding, fail } from '@drawbridge/shared/terminal/finding.ts'
import { checkFiles } from './file-check.ts'
import { checkKeySource } from './key-ring-check.ts'
import { checkProxies } from './own-check.ts'
import { publicToolFindings } from './public-tool-note.ts'
import { askOidc, checkDiscovery, checkOidcFeatures } from './oidc-check.ts'
import {
  noteEmbedded,
  noteRateLimit,
  noteAccess,
  noteRedirectUrl,
  noteSessionLimits,
  noteSessionTokens,
} from './provider-note.ts'
import { checkSigningKeys } from './signing-key-check.ts'
import { checkStore, type StoreReport } from './store-check.ts'
import { askSupabase, checkApiKey, checkAuthApi, checkIssuer, checkSignInMethods } from './supabase-check.ts'
import { checkToken, readGivenToken } from './token-check.ts'
import { checkUpstream } from './upstream-check.ts'

/** Findings as they come: each group is printed when it is there. */
export type Findings = AsyncGenerator<readonly Finding[]>

/**
 * Looks at everything that a configuration without faults depends on. Read-only, and in an order in which the first
 * broken thing is likely to explain the later ones. `faulty` are settings whose files cannot be used, which was said
 * already: nothing further is said about those files. `token` is a provider access token to judge.
 */
export async function* examine(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
  { faulty, token }: { faulty: ReadonlySet<FileFault['field']>; token?: string | undefined },
): Findings {
  const keys = faulty.has('secretKeys') ? undefined : checkKeySource(keySourceOf(config))
  yield keys?.findings ?? []
  yield await checkFiles(config, runtime, faulty)
  const store = faulty.has('store') ? unknownStore : await lookAtStore(config, keys?.kids)
  yield store.findings
  yield [
    checkTransport(config),
    checkProxies(config),
    ...checkBaseUrl(config, await askBaseUrl(config, runtime), store.isRunning),
  ]
  if (config.provider === 'oidc') yield* examineOidc(config, runtime)
  else yield* examineSupabase(config, runtime, token)
  if (config.upstream !== undefined && !faulty.has('upstream')) {
    const reading = readUpstream(config.upstream, process.env)
    if (reading.kind === 'upstream') {
      yield await checkUpstream(reading.upstream, runtime, process.env['PATH'])
      yield publicToolFindings(reading.upstream.policy.publicTools)
    }
  }
  yield [...noteSessionLimits(config), ...noteRateLimit(config), noteSessionTokens(config)]
  if (token !== undefined) {
    yield await checkToken(token, config, openProvider(config, runtime), runtime.now())
  }
}

const unknownStore: StoreReport = { findings: [], isRunning: undefined }

async function* examineSupabase(
  config: ServerConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
  token: string | undefined,
): Findings {
  const facts = await askSupabase(config, runtime)
  const capabilities = await openProvider(config, runtime)
    .capabilities()
    .catch(() => undefined)
  yield [
    ...(config.provider === 'embedded' ? [noteEmbedded()] : []),
    checkAuthApi(config, facts),
    ...checkApiKey(config),
    ...checkClock([facts.settings, facts.health, facts.keySet], runtime.now()),
    ...checkSignInMethods(config, facts, capabilities),
    ...checkSigningKeys(config, facts.keySet),
    checkIssuer(config, facts, token === undefined ? undefined : readGivenToken(token)),
    noteRedirectUrl(config),
    ...noteAccess(config, capabilities),
    ...(config.sessionTokens ? [checkCookieName(config), checkCookieReach(config)] : []),
  ]
}

async function* examineOidc(config: ServerConfig, runtime: Pick<Runtime, 'now' | 'fetch'>): Findings {
  const facts = await askOidc(config, runtime)
  yield [
    ...checkDiscovery(config, facts),
    ...checkClock([facts.discovery], runtime.now()),
    ...checkOidcFeatures(config, facts),
    ...(facts.keySet ? checkSigningKeys(config, facts.keySet) : []),
    noteRedirectUrl(config),
    ...noteAccess(config, undefined),
  ]
}

/** A failure of the check itself is a finding too: the others still run. */
async function lookAtStore(config: ServerConfig, kids: readonly string[] | undefined): Promise<StoreReport> {
  try {
    return await checkStore(config, kids)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    const finding = fail('store', `It cannot be looked at: ${reason}.`, 'Repair that, and run doctor again.')
    return { findings: [finding], isRunning: undefined }
  }
}
