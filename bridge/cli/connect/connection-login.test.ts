import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createBridgeConfig, readSettings } from '../../config/config-reader.ts'
import type { BridgeConfig } from '../../config/config.ts'
import { loginId } from '../../credentials/credential-store.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { readWords } from '../../../tests/support/bridge/cli/command-words.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import {
  type ConnectionLogin,
  createConnectionLogin,
  isOpenedByItself,
  loginIdOf,
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

  it('without anything stored sends nothing, and touches nothing', async () => {
    const login = open(configOf([]))
    expect(login.summary).toBe('no login stored')
    expect(await login.tokens.authorization()).toBeUndefined()
    await login.settle()
    expect(existsSync(join(home, '.drawbridge'))).toBe(false)
  })

  it('sends what is stored', async () => {
    await storeLogin(home, url)
    const login = open(configOf([]))
    expect(login.summary).toBe('login stored')
    expect(await login.tokens.authorization()).toEqual({ header: 'Bearer sEcReT-access' })
  })

  it('says that somebody has to sign in', async () => {
    const login = open(configOf([]))
    expect(await login.tokens.refused(refusal)).toEqual({ kind: 'sign_in_needed' })
    expect(login.signIn).toBeTypeOf('function')
  })

  it('of a token is fixed', async () => {
    const login = open(configOf([], { DRAWBRIDGE_TOKEN: 'abc' }))
    expect(await login.tokens.authorization()).toEqual({ header: 'Bearer abc' })
    expect(await login.tokens.refused(refusal)).toEqual({ kind: 'sign_in_needed' })
    expect(login.signIn).toBeUndefined()
    expect(login.summary).toBe('token of DRAWBRIDGE_TOKEN')
    expect(open(configOf(['--header', 'Authorization: Bearer x'])).summary).toBe('token of a header')
  })

  it('has a debug log in which the values of its headers are not', async () => {
    const log = await openConnectionLog(configOf(['--debug', '--header', 'X-Key: hunter22']))
    log?.note('sent hunter22')
    const written = [...filesIn(join(home, '.drawbridge', 'logs')).values()].join()
    expect(written).toContain('sent ')
    expect(written).not.toContain('hunter22')
  })

  it('of another Authorization header is in that header', async () => {
    const login = open(configOf(['--header', 'Authorization: Basic abc']))
    expect(await login.tokens.authorization()).toBeUndefined()
    expect(login.signIn).toBeUndefined()
    expect(login.summary).not.toContain('abc')
  })

  it('goes by the id that the login itself has', () => {
    const config = configOf([
      '--profile',
      'work',
      '--resource',
      'https://r.example',
      '--static-oauth-client-info',
      '{"client_id":"c"}',
    ])
    expect(loginIdOf(config)).toBe(
      loginId({ serverUrl: url, resource: 'https://r.example', client: 'c', profile: 'work' }),
    )
  })
})

describe('a prompt', () => {
  it('opens no page by itself that nothing confirms, or that is open', () => {
    const browser = { kind: 'browser' as const, url: 'https://as.example/a' }
    const unconfirmed = { page: 'as.example', namedBy: 'mcp.example' }
    expect(isOpenedByItself({ ...browser, unconfirmed })).toBe(false)
    expect(isOpenedByItself({ ...browser, followed: true })).toBe(false)
    expect(isOpenedByItself(browser)).toBe(true)
  })
})
