import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

describe('the dependency directions are enforced', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'drawbridge-lint-'))
    writeFileSync(join(folder, 'oxlint.config.ts'), readFileSync(join(root, 'oxlint.config.ts')))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  /** What the linter says of `source` at `path` in a tree with our rules. */
  function lint(path: string, source: string): string {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, source)
    try {
      const oxlint = join(root, 'node_modules/oxlint/bin/oxlint')
      return execFileSync(process.execPath, [oxlint, '-f', 'unix', path], { cwd: folder, encoding: 'utf8' })
    } catch (error) {
      return String((error as { stdout: unknown }).stdout)
    } finally {
      rmSync(file)
    }
  }

  it.each<[path: string, imported: string]>([
    ['shared/x.ts', '../server/core/session/grant.ts'],
    ['shared/x.ts', 'node:fs'],
    ['server/core/x.ts', '../http/answer.ts'],
    ['server/core/x.ts', '../config/version.ts'],
    ['server/core/x.ts', 'hono'],
    ['server/core/x.ts', 'node:sqlite'],
    ['server/http/x.ts', '../store/sqlite/sqlite.ts'],
    ['server/http/pages/x.ts', '../../providers/jwks.ts'],
    ['server/http/x.ts', '../app.ts'],
    ['server/mcp/x.ts', '../http/answer.ts'],
    ['server/store/x.ts', '../mcp/tool.ts'],
    ['server/store/sqlite/x.ts', '../../providers/supabase/gotrue.ts'],
    ['server/store/postgres/x.ts', '../../app.ts'],
    ['server/providers/openid-connect/x.ts', '../../store/row.ts'],
    ['server/core/x.ts', '../store/sqlite/sqlite.ts'],
    ['server/providers/x.ts', '../store/sqlite/sqlite.ts'],
    ['server/sandbox/x.ts', '../providers/jwks.ts'],
    ['server/sandbox/app/x.ts', '../../providers/supabase/gotrue.ts'],
    ['bridge/http/x.ts', '../oauth/login-port.ts'],
    ['bridge/credentials/x.ts', '../http/http-client.ts'],
    ['bridge/oauth/x.ts', '../transport/remote-leg.ts'],
    ['bridge/proxy/x.ts', '../oauth/login-port.ts'],
    ['bridge/proxy/x.ts', '../credentials/credential.ts'],
    ['bridge/install/x.ts', '../cli/terminal/output.ts'],
    ['bridge/oauth/x.ts', '../config/config.ts'],
    ['extension/core/x.ts', '../platform/browser.ts'],
    ['extension/core/x.ts', '../ui/popup-screen.ts'],
    ['extension/core/x.ts', 'webextension-polyfill'],
    ['extension/ui/x.ts', '../platform/browser.ts'],
    ['extension/ui/x.ts', '../core/session-reader.ts'],
    ['extension/platform/x.ts', '../core/session-reader.ts'],
    ['extension/platform/x.ts', '../ui/popup-screen.ts'],
    ['extension/platform/x.ts', 'webextension-polyfill'],
    ['extension/background/x.ts', '../ui/popup-screen.ts'],
    ['extension/background/x.ts', 'webextension-polyfill'],
    ['extension/entrypoints/popup/x.ts', 'webextension-polyfill'],
    ['extension/entrypoints/popup/x.ts', '../../../server/version.ts'],
  ])('%s may not import %s', (path, imported) => {
    expect(lint(path, `import { x } from '${imported}'\n\nexport const y: unknown = x\n`)).toContain(
      'no-restricted-imports',
    )
  })

  it.each<[path: string, imported: string]>([
    ['server/core/x.ts', '@drawbridge/shared/oauth/pkce.ts'],
    ['server/core/x.ts', './grant.ts'],
    ['server/http/x.ts', '../core/grant.ts'],
    ['server/providers/x.ts', 'jose'],
    ['bridge/proxy/x.ts', '../http/http-client.ts'],
    ['bridge/oauth/x.ts', '../credentials/credential.ts'],
    ['extension/core/x.ts', '@drawbridge/shared/session-cookie/session-cookie.ts'],
    ['extension/ui/x.ts', '../core/expiry.ts'],
    ['extension/platform/x.ts', '../core/ports.ts'],
    ['extension/platform/web-extension.ts', 'webextension-polyfill'],
    ['extension/background/x.ts', '../core/badge.ts'],
    ['extension/entrypoints/popup/x.ts', '../../core/popup.ts'],
  ])('%s may import %s', (path, imported) => {
    expect(lint(path, `import { x } from '${imported}'\n\nexport const y: unknown = x\n`)).not.toContain(
      'no-restricted-imports',
    )
  })

  it.each(['Date.now()', 'Math.random()', 'fetch', 'process'])(
    'core and shared do not use %s',
    (expression) => {
      for (const path of ['server/core/x.ts', 'shared/x.ts']) {
        expect(lint(path, `export const y: unknown = ${expression}\n`)).toContain('no-restricted-')
      }
    },
  )

  it.each([
    ['extension/core/x.ts', 'document'],
    ['extension/core/x.ts', 'navigator'],
    ['extension/core/x.ts', 'Date.now()'],
    ['extension/core/x.ts', 'fetch'],
    ['extension/ui/x.ts', 'chrome'],
    ['extension/ui/x.ts', 'fetch'],
    ['extension/ui/x.ts', 'document.body.innerHTML'],
    ['extension/background/x.ts', 'browser'],
    ['extension/entrypoints/popup/main.ts', 'document.body.outerHTML'],
  ])('%s does not use %s', (path, expression) => {
    expect(lint(path, `export const y: unknown = ${expression}\n`)).toContain('no-restricted-')
  })
})
