import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { staged } from '../support/bridge/process/stage.ts'

describe.concurrent('the environment of the browser', () => {
  it.each<[how: string, environment: (program: string) => Record<string, string>]>([
    ['that BROWSER names', (program) => ({ BROWSER: program })],
    // Found by its name: what the desktop opens pages with.
    [
      'of the desktop',
      (program) => ({ DISPLAY: ':0', PATH: `${dirname(program)}:${process.env['PATH'] ?? ''}` }),
    ],
  ])('the environment of the browser has none of the secrets of the bridge: one %s', (_how, environment) =>
    staged(async (stage) => {
      const remote = await stage.remote({ auth: true })
      const client = remote.addClient({
        clientId: 'robot',
        clientSecret: 'sEcReT-robot',
        redirectUris: ['http://127.0.0.1/oauth/callback'],
      })
      const program = stage.file(
        'bin/xdg-open',
        `#!${process.execPath}
        const { renameSync, writeFileSync } = require('node:fs')
        writeFileSync(__filename + '.part', JSON.stringify(process.env))
        renameSync(__filename + '.part', __filename + '.seen')
        fetch(process.argv[2]).then((response) => response.text())`,
      )
      chmodSync(program, 0o700)
      const secrets = {
        DRAWBRIDGE_KEY: Buffer.alloc(32, 7).toString('base64url'),
        DRAWBRIDGE_STATIC_OAUTH_CLIENT_INFO: `{"client_id":"${client.clientId}","client_secret":"\${ROBOT}"}`,
        ROBOT: 'sEcReT-robot',
        HEADER_VALUE: 'sEcReT-header',
        MY_API_KEY: 'sEcReT-other',
        GITHUB_TOKEN: 'sEcReT-token',
      }
      const { code, stderr } = await stage.command(
        ['login', remote.url, '--store', 'file', '--header', 'X-Header: ${HEADER_VALUE} of ${HOME}'],
        { environment: { ...secrets, LANG: 'C', ...environment(program) } },
      )
      expect(code, stderr).toBe(0)
      expect(existsSync(`${program}.seen`)).toBe(true)
      const seen = JSON.parse(readFileSync(`${program}.seen`, 'utf8')) as Record<string, string>
      expect(Object.keys(seen)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^DRAWBRIDGE_/)]))
      for (const value of Object.values(secrets)) expect(Object.values(seen)).not.toContain(value)
      expect(seen).toMatchObject({ HOME: stage.home, LANG: 'C' })
      expect(seen['PATH']).toBeDefined()
    })(),
  )
})
