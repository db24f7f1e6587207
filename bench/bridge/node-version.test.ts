import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findNodes, missingNodes } from './node-version.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'drawbridge-nodes-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** A program that says it is that version. Answers its folder. */
function install(folder: string, version: string): string {
  const path = join(root, folder)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'node'), `#!/bin/sh\necho ${version}\n`)
  chmodSync(join(path, 'node'), 0o755)
  return path
}

const pinned = { name: `Node ${process.versions.node}`, path: process.execPath }
const pathOf = (...folders: string[]): { PATH: string } => ({ PATH: folders.join(delimiter) })

describe('the Nodes that bars are for', () => {
  it('are the pinned one and the first Node 20 in PATH that is not of npm', () => {
    const path = pathOf(
      install('none', '22.1.0'),
      install('node_modules/.bin', '20.1.0'),
      install('a', '20.2.0'),
      install('b', '20.3.0'),
    )
    const nodes = findNodes(path)
    expect(nodes).toMatchObject([pinned, { name: 'Node 20.2.0', path: join(root, 'a', 'node'), major: 20 }])
    expect(missingNodes('area', nodes)).toEqual([])
  })

  it('are the pinned one and what NODE20 names', () => {
    const NODE20 = join(install('c', '20.4.0'), 'node')
    expect(findNodes({ ...pathOf(install('a', '20.2.0')), NODE20 })).toMatchObject([
      pinned,
      { name: 'Node 20.4.0', path: NODE20 },
    ])
    const other = join(install('d', '21.0.0'), 'node')
    expect(() => findNodes({ NODE20: other })).toThrow('NODE20 names Node 21.0.0, which is no Node 20.')
  })

  it('are not taken for measured when there is no Node 20', () => {
    const nodes = findNodes(pathOf(install('a', '22.1.0')))
    expect(nodes).toMatchObject([pinned])
    expect(missingNodes('area', nodes)).toMatchObject([{ area: 'area', name: 'Node 20', ok: false }])
  })
})
