import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { median } from '../contest.ts'
import { atMost, type BarredFigure, reported } from '../figure.ts'
import { openConnection } from './line-client.ts'
import { type BenchRemote, startRemote } from './remote.ts'
import { nodesOf, openSubjects, ours, reference, type Subject } from './subject.ts'

const idleMs = 2000
const slowAnswerMs = 100

interface Started {
  ms: number
  megabytes: number
}

/** From spawning a bridge to the answer of `tools/list`, and its memory two seconds later, without sign-in. */
export async function measureBridgeStart(bench: Bench): Promise<BarredFigure[]> {
  const remote = await startRemote(bench)
  const subjects = openSubjects(bench)
  try {
    const figures = []
    for (const node of nodesOf()) figures.push(...(await measureOn(node, { bench, remote, subjects })))
    return [...figures, ...(await measureRoundTrips(remote, subjects))]
  } finally {
    await remote.child.stop()
  }
}

async function measureOn(
  node: { name: string; path: string; major: number },
  { bench, remote, subjects }: { bench: Bench; remote: BenchRemote; subjects: readonly Subject[] },
): Promise<BarredFigure[]> {
  const bare: number[] = []
  const started = new Map<string, Started[]>(subjects.map(({ name }) => [name, []]))
  // The first round fills caches of files and of compiled code.
  for (let round = 0; round <= bench.startRounds; round += 1) {
    bare.push(await timeBare(node.path))
    for (const subject of subjects) {
      const one = await timeStart(subject, remote.url, node.path, round)
      if (round > 0) started.get(subject.name)?.push(one)
    }
  }
  bare.shift()
  const area = 'bridge start'
  const msOf = (name: string): number => median((started.get(name) ?? []).map(({ ms }) => ms))
  const memoryOf = (name: string): number =>
    median((started.get(name) ?? []).map(({ megabytes }) => megabytes).filter((value) => value > 0))
  const bareMs = median(bare)
  const mine = msOf(ours)
  return [
    reported({ area, name: `bare ${node.name}`, value: bareMs, unit: 'ms' }),
    reported({ area, name: `spawn to tools/list, ${node.name}`, value: mine, unit: 'ms' }),
    atMost(node.major === 20 ? 1.6 : 2.4, {
      area,
      name: `spawn to tools/list, times bare, ${node.name}`,
      value: mine / bareMs,
      unit: '',
    }),
    atMost(0.27, {
      area,
      name: `spawn to tools/list, times ${reference}, ${node.name}`,
      value: mine / msOf(reference),
      unit: '',
    }),
    ...others(subjects).map((peer) =>
      reported({
        area,
        name: `spawn to tools/list, ${peer}, ${node.name}`,
        value: msOf(peer),
        unit: 'ms',
        peer,
        ratio: mine / msOf(peer),
      }),
    ),
    atMost(60, { area, name: `memory, idle, ${node.name}`, value: memoryOf(ours), unit: 'MB' }),
    atMost(0.65, {
      area,
      name: `memory, idle, times ${reference}, ${node.name}`,
      value: memoryOf(ours) / memoryOf(reference),
      unit: '',
    }),
    ...others(subjects).map((peer) =>
      reported({
        area,
        name: `memory, idle, ${peer}, ${node.name}`,
        value: memoryOf(peer),
        unit: 'MB',
        peer,
        ratio: memoryOf(ours) / memoryOf(peer),
      }),
    ),
  ]
}

function others(subjects: readonly Subject[]): string[] {
  return subjects.map(({ name }) => name).filter((name) => name !== ours)
}

async function timeStart(
  subject: Subject,
  url: string,
  node: string,
  round: number,
  opened: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Started> {
  const begin = performance.now()
  const client = subject.start(url, node)
  await openConnection(client)
  const ms = performance.now() - begin
  await opened()
  // Memory hardly varies: two rounds tell it.
  const isWeighed = round === 1 || round === 2
  if (isWeighed) await sleep(idleMs)
  const megabytes = isWeighed ? client.memoryBytes() / 1e6 : 0
  await client.close()
  return { ms, megabytes }
}

async function timeBare(node: string): Promise<number> {
  const begin = performance.now()
  const child = spawn(node, ['-e', '0'], { stdio: 'ignore' })
  await new Promise((resolve) => child.once('close', resolve))
  return performance.now() - begin
}

/** How many answers are waited for one after the other, by how much later everything is ready when each is late. */
async function measureRoundTrips(remote: BenchRemote, subjects: readonly Subject[]): Promise<BarredFigure[]> {
  const figures: BarredFigure[] = []
  for (const subject of subjects) {
    const requests: number[] = []
    await remote.setDelay(0)
    const quick = Math.min(
      ...(await timesOf(subject, remote.url, async () => {
        // What it sends beside the list has a moment to get there; what it sends at its end does not count.
        await sleep(slowAnswerMs)
        requests.push(await remote.setDelay(0))
      })),
    )
    await remote.setDelay(slowAnswerMs)
    const slow = Math.min(...(await timesOf(subject, remote.url)))
    const area = 'bridge start'
    const trips = {
      area,
      name: `round trips to tools/list, ${subject.name}`,
      value: (slow - quick) / slowAnswerMs,
      unit: '',
    }
    const asked = {
      area,
      name: `requests to tools/list, ${subject.name}`,
      value: requests[0] ?? Number.NaN,
      unit: '',
    }
    // Three, and a tenth for what the clock is off.
    if (subject.name === ours) figures.push(atMost(3.1, trips), atMost(4, asked))
    else figures.push(reported(trips), reported(asked))
  }
  await remote.setDelay(0)
  return figures
}

async function timesOf(subject: Subject, url: string, opened?: () => Promise<unknown>): Promise<number[]> {
  const times = []
  for (let round = 0; round < 3; round += 1)
    times.push((await timeStart(subject, url, process.execPath, 0, opened)).ms)
  return times
}
