import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

const refused: readonly (readonly [path: string, imported: string])[] = [
  ['shared/x.ts', '../server/core/session/grant.ts'],
  ['shared/x.ts', 'node:fs'],
  ['server/core/x.ts', '../http/answer.ts'],
  ['server/core/x.ts', '../config/version.ts'],
  ['server/core/x.ts', 'hono'],
  ['server/core/x.ts', 'node:sqlite'],
  ['server/http/x.ts', '../store/sqlite/sqlite.ts'],
  ['server/http/pages/x.ts', '../../providers/jwks.ts'],
  ['server/http/x.ts', '../startup/app.ts'],
  ['server/texts/x.ts', '../http/answer.ts'],
  ['server/core/x.ts', '../texts/built-in.ts'],
  ['server/mcp/x.ts', '../http/answer.ts'],
  ['server/store/x.ts', '../mcp/tool.ts'],
  ['server/store/sqlite/x.ts', '../../providers/supabase/gotrue.ts'],
  ['server/store/postgres/x.ts', '../../main.ts'],
  ['server/providers/openid-connect/x.ts', '../../store/row.ts'],
  ['server/core/x.ts', '../store/sqlite/sqlite.ts'],
  ['server/providers/x.ts', '../store/sqlite/sqlite.ts'],
  ['server/sandbox/x.ts', '../providers/jwks.ts'],
  ['server/admin/x.ts', '../mcp/tool.ts'],
  ['server/http/x.ts', '../admin/admin-api.ts'],
  ['server/sandbox/app/x.ts', '../../providers/supabase/gotrue.ts'],
  ['bridge/http/x.ts', '../oauth/login-port.ts'],
  ['bridge/credentials/x.ts', '../http/http-client.ts'],
  ['bridge/oauth/x.ts', '../transport/transport.ts'],
  ['bridge/proxy/x.ts', '../oauth/login-port.ts'],
  ['bridge/proxy/x.ts', '../credentials/credential.ts'],
  ['bridge/install/x.ts', '../cli/terminal/output.ts'],
  ['bridge/oauth/x.ts', '../config/config.ts'],
  ['extension/core/x.ts', '../platform/browser.ts'],
  ['extension/core/x.ts', '../ui/popup-screen.ts'],
  ['extension/core/x.ts', 'webextension-polyfill'],
  ['extension/ui/x.ts', '../platform/browser.ts'],
  ['extension/ui/x.ts', '../core/session/session-reader.ts'],
  ['extension/platform/x.ts', '../core/session/session-reader.ts'],
  ['extension/platform/x.ts', '../ui/popup-screen.ts'],
  ['extension/platform/x.ts', 'webextension-polyfill'],
  ['extension/background/x.ts', '../ui/popup-screen.ts'],
  ['extension/background/x.ts', 'webextension-polyfill'],
  ['extension/entrypoints/popup/x.ts', 'webextension-polyfill'],
  ['extension/entrypoints/popup/x.ts', '../../../server/version.ts'],
  ['bridge/http/x.ts', 'undici/lib/dispatcher/agent.js'],
  ['bridge/cli/x.ts', 'jose/dist/webapi/index.js'],
  ['server/core/x.ts', '@modelcontextprotocol/server/dist/index.mjs'],
  ['server/cli/x.ts', 'pg/lib/client.js'],
  ['extension/ui/x.ts', 'fflate/esm/index.mjs'],
  ['shared/x.ts', 'some-package/src/index.ts'],
]

const allowed: typeof refused = [
  ['bridge/http/x.ts', 'undici'],
  ['server/http/x.ts', 'hono/body-limit'],
  ['server/core/x.ts', '@drawbridge/shared/oauth/pkce.ts'],
  ['server/core/x.ts', './grant.ts'],
  ['server/http/x.ts', '../core/grant.ts'],
  ['server/http/x.ts', '../texts/built-in.ts'],
  ['server/providers/x.ts', 'jose'],
  ['bridge/proxy/x.ts', '../http/http-client.ts'],
  ['bridge/oauth/x.ts', '../credentials/credential.ts'],
  ['extension/core/x.ts', '@drawbridge/shared/session-cookie/session-cookie.ts'],
  ['extension/ui/x.ts', '../core/session/tab-look.ts'],
  ['extension/platform/x.ts', '../core/ports.ts'],
  ['extension/platform/web-extension.ts', 'webextension-polyfill'],
  ['extension/background/x.ts', '../core/session/tab-look.ts'],
  ['extension/entrypoints/popup/x.ts', '../../core/popup/popup.ts'],
]

const unusable: readonly (readonly [path: string, expression: string])[] = [
  ['server/core/x.ts', 'Date.now()'],
  ['server/core/x.ts', 'Math.random()'],
  ['server/core/x.ts', "URL.canParse('x')"],
  ['server/http/x.ts', "URL.canParse('x')"],
  ['bridge/oauth/x.ts', "URL.canParse('x')"],
  ['server/core/x.ts', 'fetch'],
  ['server/core/x.ts', 'process'],
  ['shared/x.ts', 'Date.now()'],
  ['shared/x.ts', 'Math.random()'],
  ['shared/x.ts', 'fetch'],
  ['shared/x.ts', 'process'],
  ['extension/core/x.ts', 'document'],
  ['extension/core/x.ts', 'navigator'],
  ['extension/core/x.ts', 'Date.now()'],
  ['extension/core/x.ts', 'fetch'],
  ['extension/ui/x.ts', 'chrome'],
  ['extension/ui/x.ts', 'fetch'],
  ['extension/ui/x.ts', 'document.body.innerHTML'],
  ['extension/background/x.ts', 'browser'],
  ['extension/entrypoints/popup/main.ts', 'document.body.outerHTML'],
]

describe('the directions of imports are enforced', () => {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-lint-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const name of [
    'oxlint.config.ts',
    'package.json',
    'knip.json',
    'server/package.json',
    'shared/package.json',
  ]) {
    write(name, readFileSync(join(root, name), 'utf8'))
  }
  afterAll(() => rmSync(folder, { recursive: true }))

  function write(path: string, source: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), source)
  }

  function run(tool: string, ...parameters: readonly string[]): string {
    return spawnSync(process.execPath, [join(root, 'node_modules', tool), ...parameters], {
      cwd: folder,
      encoding: 'utf8',
    }).stdout
  }

  // One run of the linter for all cases: each has a file of its own, numbered unless its name matters.
  const cases = [...refused, ...allowed].map(([path, imported]) => [
    path,
    `import { x } from '${imported}'\n\nexport const y: unknown = x\n`,
  ])
  cases.push(...unusable.map(([path, expression]) => [path, `export const y: unknown = ${expression}\n`]))
  const names = cases.map(([path = '', source = ''], index) => {
    const name = path.endsWith('/x.ts') ? path.replace('x.ts', `case-${index}.ts`) : path
    write(name, source)
    return name
  })
  const findings = run('oxlint/bin/oxlint', '-f', 'unix', 'shared', 'server', 'bridge', 'extension').split(
    '\n',
  )

  function findingsOf(index: number): string {
    return findings.filter((line) => line.startsWith(`${names[index]}:`)).join('\n')
  }

  it.each(refused.map(([path, imported], index) => [path, imported, index] as const))(
    '%s may not import %s',
    (_path, _name, index) => {
      expect(findingsOf(index)).toContain('no-restricted-imports')
    },
  )

  it.each(allowed.map(([path, imported], index) => [path, imported, refused.length + index] as const))(
    '%s may import %s',
    (_path, _name, index) => {
      expect(findingsOf(index)).not.toContain('no-restricted-imports')
    },
  )

  it.each(
    unusable.map(
      ([path, expression], index) => [path, expression, refused.length + allowed.length + index] as const,
    ),
  )('%s does not use %s', (_path, _expression, index) => {
    expect(findingsOf(index)).toContain('no-restricted-')
  })

  /** What the tools that `npm run check` runs over all files say about a server of these two files of the core. */
  function check(first: string, second: string): string {
    const files = {
      'server/main.ts': "import './core/x.ts'\n",
      'server/library.ts': '',
      'server/core/x.ts': first,
      'server/core/y.ts': second,
    }
    for (const [name, source] of Object.entries(files)) write(name, source)
    return run('oxlint/bin/oxlint', '-f', 'unix', 'server') + run('knip/bin/knip.js', '--cycles')
  }

  it.each<[kind: string, first: string, second: string]>([
    [
      'values',
      "import { y } from './y.ts'\n\nexport const x = y\n",
      "import { x } from './x.ts'\n\nexport const y = x\n",
    ],
    [
      'types',
      "import type { Y } from './y.ts'\n\nexport type X = Y | undefined\n",
      "import type { X } from './x.ts'\n\nexport type Y = X | undefined\n",
    ],
    [
      'a dynamic import',
      "export const x = (): Promise<unknown> => import('./y.ts')\n",
      "import { x } from './x.ts'\n\nexport const y = x\n",
    ],
  ])('no circle of imports passes: by %s', (_kind, first, second) => {
    expect(check(first, second)).toMatch(/no-cycle|Circular dependencies/)
  })

  it('imports without a circle pass', () => {
    const outcome = check("export { y as x } from './y.ts'\n", 'export const y = 1\n')
    expect(outcome).not.toMatch(/no-cycle|Circular dependencies/)
  })
})
