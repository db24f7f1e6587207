import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import bridge from '../../bridge/package.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import server from '../../server/package.json' with { type: 'json' }
import { read, readJson, readYaml, root } from './deploy-files.ts'

interface Step {
  uses?: string
  run?: string
  with?: Record<string, string | number>
}
interface Workflow {
  permissions: Record<string, string>
  jobs: Record<
    string,
    {
      needs?: string | string[]
      steps: Step[]
      strategy?: { matrix: { os?: string[]; include?: { program: string; node: string }[] } }
    }
  >
}
const names = ['ci', 'release', 'weekly'] as const
const workflows = Object.fromEntries(
  names.map((name) => [name, readYaml(`.github/workflows/${name}.yml`) as Workflow]),
) as Record<(typeof names)[number], Workflow>

describe.each(names)('%s.yml', (name) => {
  const { jobs, permissions } = workflows[name]
  const steps = Object.values(jobs).flatMap((job) => job.steps)

  it('a workflow grants jobs reading only, unless a job names more', () => {
    expect(permissions).toEqual({ contents: 'read' })
    expect(read(`.github/workflows/${name}.yml`)).not.toMatch(/write-all|pull_request_target/)
  })

  it('a workflow uses each action by the digest of the version in its comment', () => {
    const lines = read(`.github/workflows/${name}.yml`).match(/uses: .*/g) ?? []
    expect(lines).toHaveLength(steps.filter(({ uses }) => uses).length)
    for (const line of lines) expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })

  it('a workflow runs existing scripts and files only', () => {
    const lines = steps.flatMap(({ run }) => run ?? [])
    for (const line of lines) {
      const [, script, workspace] = /npm run ([\w:-]+)(?: -w (\w+))?/.exec(line) ?? []
      if (script !== undefined) {
        expect(
          workspace === 'extension' ? readJson('extension/package.json')['scripts'] : manifest.scripts,
        ).toHaveProperty([script])
      }
      for (const [path] of line.matchAll(/(?:\.ci\/run|scripts\/[\w.-]+)/g)) {
        expect(existsSync(join(root, path)), path).toBe(true)
      }
    }
    expect(lines.length).toBeGreaterThan(0)
  })

  it('a workflow runs .ci/run, and so everything', () => {
    expect(steps.some(({ run }) => run?.includes('.ci/run'))).toBe(true)
  })

  it('a workflow makes jobs wait for existing jobs only', () => {
    for (const { needs = [] } of Object.values(jobs)) {
      for (const job of [needs].flat()) expect(Object.keys(jobs)).toContain(job)
    }
  })
})

it('a release publishes what its steps have written', () => {
  const uploads = workflows.release.jobs['build']?.steps.find(({ uses }) => uses?.includes('upload-artifact'))
  const paths = String(uploads?.with?.['path']).trim().split('\n')
  expect(paths).toEqual([
    ...[bridge.name, server.name].map((name) => `${name}-*.tgz`),
    'dist/extension/*.zip',
    'bridge/dist/*.mcpb',
  ])
  expect(read('scripts/mcpb.ts')).toContain('bridge/dist/drawbridge')
  expect(read('extension/wxt.config.ts')).toContain("'../dist/extension'")
})

it('all workflows use one digest of each action', () => {
  const used = new Set(
    names.flatMap((name) => read(`.github/workflows/${name}.yml`).match(/uses: .*/g) ?? []),
  )
  const actions = [...used].map((line) => line.split('@')[0])
  expect(new Set(actions).size).toBe(actions.length)
})

it('the workflows try the oldest Node of each program on three systems', () => {
  const { matrix } = workflows.ci.jobs['old-nodes']?.strategy ?? {}
  const oldest = (program: string): string | undefined =>
    matrix?.include?.find((each) => each.program === program)?.node
  expect(`>=${oldest('bridge/launcher.cjs')}`).toBe(bridge.engines.node)
  expect(`>=${oldest('server/launcher.cjs')}`).toBe(server.engines.node)
  expect(matrix?.os?.map((os) => os.split('-')[0])).toEqual(['ubuntu', 'macos', 'windows'])
})
