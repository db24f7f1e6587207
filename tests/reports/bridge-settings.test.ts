import { describe, expect, it, onTestFinished } from 'vitest'
import { settings } from '../../bridge/config/setting-table.ts'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { runCommand } from '../support/bridge/cli/command-run.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { startRemote } from '../support/remote/remote.ts'
import { serveProxy } from '../support/bridge/http/proxy-fixture.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { login, openBridge } from './odd-server.ts'

/** Texts that people paste, and what editors and shells make of them. */
const oddTexts = [
  '%',
  '100%sure',
  '\u{1F600}',
  '\uD800',
  'ä',
  'a\u0000b',
  'a\r\nb',
  '@',
  '@/nope',
  '/nope',
  '-1',
  '1e999',
  '9'.repeat(400),
  'on',
  'null',
  '{}',
  '[]',
  '{"client_id":"ä%"}',
  '{"client_id":"x","client_secret":"\\ud800"}',
  '{"client_id":"x","token_endpoint_auth_method":"private_key_jwt"}',
  '{"redirect_uris":5,"scope":7,"grant_types":null}',
  '{"client_name":{"a":1}}',
  '{"token_endpoint_auth_method":["x"]}',
  'http://',
  'http://%',
  'http://jo:100%sure@127.0.0.1:1',
  'http://jo:p#x@127.0.0.1:1',
  'https://jo:100%sure@127.0.0.1:1',
  'http://[::1',
  'http://[::1%25lo]:1',
  'socks5://127.0.0.1:1',
  'https://client.example/%zz',
  'urn:%',
  'a=\uD800',
  'A: \uD800',
  'Authorization: Bearer ä',
  'Authorization:',
  'Cookie: a=\u007F',
  'A: ${NOPE}',
  '(',
  '[',
  '::1',
  'http://127.0.0.1/%',
]

const isFlag = ({ secret, value }: (typeof settings)[number]): boolean =>
  secret !== true && value !== undefined
const rows = settings.map(
  (setting) => [isFlag(setting) ? flagOf(setting) : variableOf(setting), setting] as const,
)

describe('a setting that cannot be read', () => {
  it.each(rows)(
    'an unreadable setting is used or named, never an unexpected error: %s',
    async (name, setting) => {
      const remote = await startRemote({ auth: true })
      onTestFinished(() => remote.close())
      const home = temporaryFolder()
      for (const text of oddTexts) {
        // The person does not come in time: everything up to the link is what the setting can spoil.
        const limit = setting.field === 'timeout' ? [] : ['--timeout', '50ms']
        const words = ['login', remote.url, '--json', '--no-open', ...limit]
        const given = setting.field === 'open' ? words.filter((word) => word !== '--no-open') : words
        const run = isFlag(setting)
          ? await runCommand([...given, `${name}=${text}`], { home })
          : await runCommand(given, { home, environment: { [name]: text } })
        const { code, errors = [] } = run.json() as { code?: string; errors?: string[] }
        expect(code, `${name} ${text}`).not.toBe('unexpected')
        if (code !== 'configuration') continue
        expect(run.code).toBe(2)
        // Two settings that do not go together are named by their flags.
        const [flag, variable] = [flagOf(setting), variableOf(setting)]
        expect(errors.some((error) => error.includes(flag) || error.includes(variable))).toBe(true)
      }
    },
  )
})

it.each(['HTTP_PROXY', 'HTTPS_PROXY', '--proxy'])(
  'credentials of a proxy with a bare percent sign are sent as curl does: %s',
  (name) =>
    staged(async (stage) => {
      const { port: targetPort } = await stage.remote()
      const proxy = await serveProxy({ targetPort, credentials: 'jo:100%sure' })
      const address = `http://jo:100%sure@127.0.0.1:${proxy.port}`
      const url = `${name === 'HTTPS_PROXY' ? 'https' : 'http'}://mcp.company.example/mcp`
      const flags = ['--allow-http', '--retry', 'off']
      const given = name.startsWith('--')
        ? { flags: [...flags, name, address] }
        : { flags, environment: { [name]: address } }
      const { opened } = await openBridge(stage, url, given)
      expect(proxy.credentials[0]).toBe('jo:100%sure')
      // There is no TLS beyond the tunnel.
      if (name !== 'HTTPS_PROXY') expect(opened).toHaveProperty('result')
    })(),
)

describe.concurrent('a setting that is only used at a sign-in', () => {
  const loginWith = async (stage: Stage, ...flags: string[]): Promise<string> => {
    const remote = await stage.remote({ auth: true })
    const { code, stderr } = await login(stage, remote.url, { flags })
    return `${code} ${stderr}`
  }

  it.each<[flags: string[], said: RegExp]>([
    [['--static-oauth-client-metadata', '{"scope":7}'], /^2 [^]*expected scope to be a text/],
    [['--static-oauth-client-metadata', '{"redirect_uris":"x"}'], /^2 [^]*redirect_uris to be a list/],
    [['--static-oauth-client-info', '{"client_id":"x","issuer":7}'], /^2 [^]*issuer that is a URL/],
    [['--accept-issuer', 'login.example'], /^2 [^]*expected the URL of an issuer/],
    [['--scope', 'a  b'], /^2 [^]*single spaces/],
  ])('a wrong setting of sign-ins is named before any request: %j', (flags, said) =>
    staged(async (stage) => expect(await loginWith(stage, ...flags)).toMatch(said))(),
  )
})
