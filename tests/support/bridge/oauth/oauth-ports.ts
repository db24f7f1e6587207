import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { HttpClient } from '../../../../bridge/http/http-client.ts'
import { createHttpClient } from '../../../../bridge/http/undici-client.ts'
import { networkConfig } from '../http/server-fixture.ts'
import type { OAuthConfig } from '../../../../bridge/oauth/oauth-config.ts'
import type { OAuthContext } from '../../../../bridge/oauth/server-request.ts'

/** The real clock and random source; sleeping moves the clock instead of waiting. */
export interface TestRuntime extends Runtime {
  /** Durations of all sleeps, in milliseconds. */
  slept: number[]
  advance(seconds: number): void
}

/** Creates a {@link TestRuntime} that starts now. */
export function createTestRuntime(): TestRuntime {
  let ahead = 0
  const slept: number[] = []
  return {
    slept,
    advance: (seconds) => void (ahead += seconds),
    now: () => Math.floor(Date.now() / 1000) + ahead,
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    async sleep(ms) {
      slept.push(ms)
      ahead += Math.ceil(ms / 1000)
      await setImmediate()
    },
    fetch: () => Promise.reject(new Error('The bridge sends nothing by fetch.')),
  }
}

/** Creates the bridge's HTTP client for direct use on loopback. */
export function createTestHttp(): HttpClient {
  return createHttpClient(networkConfig())
}

/** Returns the context of a bridge at this server, whose user does not give up. */
export function oauthContext(
  http: HttpClient,
  serverUrl: string,
  changes: Partial<OAuthConfig> = {},
  signal: AbortSignal = new AbortController().signal,
): OAuthContext {
  return { http, runtime: createTestRuntime(), config: oauthConfig(serverUrl, changes), signal }
}

/** Returns the configuration of a bridge started with only the URL. */
export function oauthConfig(serverUrl: string, changes: Partial<OAuthConfig> = {}): OAuthConfig {
  return {
    serverUrl,
    profile: 'default',
    grant: 'authorization_code',
    prefersDevice: false,
    resource: undefined,
    sendResource: true,
    acceptIssuer: undefined,
    staticClient: undefined,
    privateKey: undefined,
    clientMetadataUrl: undefined,
    clientName: 'Drawbridge bridge on tower',
    clientMetadata: {},
    scope: undefined,
    authorizeParameters: {},
    callback: { host: '127.0.0.1', port: undefined, path: '/oauth/callback' },
    useIdToken: false,
    signInTimeoutMs: 10_000,
    allowHttp: false,
    ...changes,
  }
}
