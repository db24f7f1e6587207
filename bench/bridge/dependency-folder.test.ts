import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { dependencyFolders } from './dependency-folder.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'drawbridge-dependencies-'))
})
afterEach(() => rmSync(root, { recursive: true }))

function install(packages: Readonly<Record<string, object>>): void {
  for (const [path, manifest] of Object.entries(packages)) {
    mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, path, 'package.json'), JSON.stringify(manifest))
  }
}

const found = (name: string): string[] =>
  dependencyFolders(root, name)
    .map((folder) => folder.slice(root.length + 1))
    .toSorted()

it('a package has with it what it needs, each once and in the version that it finds', () => {
  install({
    one: { dependencies: { two: '1', '@scope/three': '1' }, peerDependencies: { four: '1' } },
    two: { dependencies: { '@scope/three': '2', one: '1' } },
    'two/node_modules/@scope/three': {},
    '@scope/three': {},
    four: {},
    stranger: {},
  })
  expect(found('one')).toEqual(['@scope/three', 'four', 'one', 'two', 'two/node_modules/@scope/three'])
})

it('what is optional counts when it was installed for it', () => {
  install({
    one: {
      optionalDependencies: { two: '1', absent: '1' },
      peerDependencies: { three: '1', nowhere: '1' },
      peerDependenciesMeta: { three: { optional: true }, nowhere: { optional: true } },
    },
    two: {},
    three: {},
  })
  expect(found('one')).toEqual(['one', 'two'])
})

it('what is missing is an error', () => {
  install({ one: { dependencies: { absent: '1' } } })
  expect(() => found('one')).toThrow('absent, which')
})
