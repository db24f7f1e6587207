import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BridgeConfig, createBridgeConfig, readSettings } from '../../config/config-reader.ts'
import { loginId } from '../../credentials/credential-store.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { readWords } from '../../../tests/support/bridge/cli/command-words.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import {
  type ConnectionLogin,
  createConnectionLogin,
  isOpenedByItself,
  openConnectionLog,
} from './connection-login.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'
import { filesIn } from '../../../tests/support/bridge/process/stage.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const url = 'https://mcp.example.com/mcp'

describe('the login of a connection', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  function configOf(words: readonly string[], environment: Record<string, string> = {}): BridgeConfig {
    const surroundings = {
      environment: { DRAWBRIDGE_CREDENTIAL_STORE: 'file', ...environment },
      homeFolder: home,
      platform: 'linux' as const,
      readText: () => {
        throw Object.assign(new Error('no'), { code: 'ENOENT' })
      },
    }
    return createBridgeConfig(readSettings(readWords([url, ...words]), surroundings), surroundings)
  }

  function open(config: BridgeConfig): ConnectionLogin {
    return createConnectionLogin(config, {
      http: createHttpClient(config.network),
      runtime: systemRuntime,
      announce() {},
      note() {},
      laterPrompt() {},
    })
  }

  const refusal = { status: 401 as const, used: undefined, challenges: [] }

  it('a connection without a stored login sends no token and writes nothing', async () => {
    const login = open(configOf([]))
    expect(login.summary).toBe('no login stored')
    expect(await login.tokens.authorization()).toBeUndefined()
    await login.settle()
    expect(existsSync(join(home, '.drawbridge'))).toBe(false)
  })

  it('a connection sends the stored token', async () => {
    await storeLogin(home, url)
    const login = open(configOf([]))
    expect(login.summary).toBe('login stored')
    expect(await login.tokens.authorization()).toEqual('Bearer sEcReT-access')
  })

  it('a connection reports that a sign-in is needed', async () => {
    const login = open(configOf([]))
    expect(await login.tokens.refused(refusal)).toEqual('sign_in_needed')
    expect(login.signIn).toBeTypeOf('function')
  })

  it('a configured token replaces the login of a connection, without a sign-in', async () => {
    const login = open(configOf([], { DRAWBRIDGE_TOKEN: 'abc' }))
    expect(await login.tokens.authorization()).toEqual('Bearer abc')
    expect(await login.tokens.refused(refusal)).toEqual('sign_in_needed')
    expect(login.signIn).toBeUndefined()
    expect(login.summary).toBe('token of DRAWBRIDGE_TOKEN')
    expect(open(configOf(['--header', 'Authorization: Bearer x'])).summary).toBe('token of a header')
  })

  it('the debug log of a connection omits the values of headers', async () => {
    const log = await openConnectionLog(configOf(['--debug', '--header', 'X-Key: hunter22']))
    log?.note('sent hunter22')
    const written = [...filesIn(join(home, '.drawbridge', 'logs')).values()].join()
    expect(written).toContain('sent ')
    expect(written).not.toContain('hunter22')
  })

  it('a configured Authorization header replaces the login of a connection', async () => {
    const login = open(configOf(['--header', 'Authorization: Basic abc']))
    expect(await login.tokens.authorization()).toBeUndefined()
    expect(login.signIn).toBeUndefined()
    expect(login.summary).not.toContain('abc')
  })

  it('a login is stored under an id of its server, resource, client and profile', () => {
    const config = configOf([
      '--profile',
      'work',
      '--resource',
      'https://r.example',
      '--static-oauth-client-info',
      '{"client_id":"c"}',
    ])
    expect(loginId(config.oauth)).toBe(
      loginId({
        serverUrl: url,
        resource: 'https://r.example',
        staticClient: { clientId: 'c' },
        profile: 'work',
      }),
    )
  })
})

describe('the prompt of a connection', () => {
  it('a connection opens no unconfirmed page, and none that is open already', () => {
    const browser = { kind: 'browser' as const, url: 'https://as.example/a' }
    const unconfirmed = { page: 'as.example', namedBy: 'mcp.example' }
    expect(isOpenedByItself({ ...browser, unconfirmed })).toBe(false)
    expect(isOpenedByItself({ ...browser, followed: true })).toBe(false)
    expect(isOpenedByItself(browser)).toBe(true)
  })
})
