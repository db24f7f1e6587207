import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** By folder: tests elsewhere that prove its decisions. Tests beside its files always run. */
const widerTests: Readonly<Record<string, readonly string[]>> = {
  'server/core/access': [
    'server/core/tokens/caller-reader.test.ts',
    'server/http/mcp/mcp*.test.ts',
    'server/http/login/access-rules.test.ts',
    'server/mcp/*.test.ts',
    'server/mcp/{plain,relay}/*.test.ts',
    'server/observability/audit*.test.ts',
  ],
  'server/core/attempts': ['server/http/*attempt*.test.ts', 'server/cli/**/*attempt*.test.ts'],
  'server/core/session': [
    'server/core/operator/*.test.ts',
    'server/core/sign-in/*.test.ts',
    'server/core/tokens/*.test.ts',
    'server/http/account/*.test.ts',
    'server/store/sqlite/*.test.ts',
  ],
  'server/core/sign-in': [
    'server/http/login/*.test.ts',
    'server/http/account/*.test.ts',
    'server/http/oauth/*.test.ts',
  ],
  'server/core/tokens': [
    'server/http/oauth/*.test.ts',
    'server/http/mcp/mcp*.test.ts',
    'server/core/authorization/*.test.ts',
  ],
  'server/http/login': ['server/core/sign-in/*.test.ts', 'server/http/page-language.test.ts'],
  'server/mcp/command': ['server/mcp/*.test.ts'],
  'bridge/oauth/tokens': ['bridge/oauth/{login,grants,client}/*.test.ts'],
  'bridge/transport': ['bridge/proxy/{liveness,proxy-calls,proxy-era}.test.ts', 'bridge/sign-in/*.test.ts'],
}

/** Returns the patterns of the tests to run for mutants of `path`, a folder or a file. */
export function testsOf(path: string): string[] {
  const folder = statSync(path).isDirectory() ? path : dirname(path)
  const tests = new Set([`${folder}/**/*.test.ts`])
  for (const [name, wider] of Object.entries(widerTests)) {
    if (!`${folder}/`.startsWith(`${name}/`)) continue
    for (const pattern of [`${name}/**/*.test.ts`, ...wider]) tests.add(pattern)
  }
  return [...tests]
}
