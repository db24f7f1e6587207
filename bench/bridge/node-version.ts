import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type BarredFigure, notMeasured } from '../figure.ts'

/** A Node that bridges are run by. */
export interface NodeVersion {
  /** Its name in figures. */
  name: string
  path: string
  major: number
}

/**
 * The Nodes that bars are for: the pinned one that runs this, and Node 20. That is what `NODE20` names, else the first of
 * that version in `PATH`; without one there is only the pinned Node. Throws when `NODE20` is no Node 20.
 */
export function findNodes(environment: Readonly<Record<string, string | undefined>>): NodeVersion[] {
  const pinned = describeNode(process.execPath)
  const named = environment['NODE20']
  if (named !== undefined) {
    const described = describeNode(named)
    if (described.major !== 20) throw new Error(`NODE20 names ${described.name}, which is no Node 20.`)
    return [pinned, described]
  }
  for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    // What npm puts there is the pinned one again.
    if (folder.includes('node_modules') || !existsSync(path)) continue
    const described = describeNode(path)
    if (described.major === 20) return [pinned, described]
  }
  return [pinned]
}

function describeNode(path: string): NodeVersion {
  const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
  return { name: `Node ${version}`, path, major: Number.parseInt(version, 10) }
}

/** The figures of a Node that there is none of. */
export function missingNodes(area: string, nodes: readonly NodeVersion[]): BarredFigure[] {
  if (nodes.some(({ major }) => major === 20)) return []
  return [notMeasured({ area, name: 'Node 20', reason: 'there is none in PATH; set NODE20 to one' })]
}
