import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { atMost, type BarredFigure, reported } from '../figure.ts'
import { openConnection } from './line-client.ts'
import { createRounds, type Rounds } from '../rounds.ts'
import { inScene } from './scene.ts'
import type { Subject } from './subject.ts'

const area = 'bridge round trips'
const slowAnswerMs = 250
const besideMs = 100

interface Measured {
  quickMs: Rounds
  slowMs: Rounds
  requests: Rounds
}

/**
 * Measures the number of sequential round trips before the tools are listed, from the extra time when each answer is
 * delayed, and the number of requests until then.
 */
export function measureRoundTrips(bench: Bench): Promise<BarredFigure[]> {
  return inScene(bench, { area, keys: ['file'] }, async ({ open, guarded, attempt }) => {
    const subjects = [...open, ...guarded].filter(({ kind }) => kind !== 'floor')
    const measured = { quickMs: createRounds(), slowMs: createRounds(), requests: createRounds() }
    for (let round = 0; round < Math.min(bench.startRounds, 3); round += 1) {
      for (const subject of subjects) await attempt(subject.name, () => measureOne(subject, measured))
      for (const each of Object.values(measured)) each.next()
    }
    return subjects.flatMap((subject) => figuresOf(subject, measured))
  })
}

async function measureOne(subject: Subject, { quickMs, slowMs, requests }: Measured): Promise<void> {
  const quick = await start(subject, 0)
  const slow = await start(subject, slowAnswerMs)
  quickMs.add(subject.name, quick.ms)
  requests.add(subject.name, quick.requests)
  slowMs.add(subject.name, slow.ms)
}

async function start(subject: Subject, delayMs: number): Promise<{ ms: number; requests: number }> {
  await subject.remote.setDelay(delayMs)
  const begin = performance.now()
  const client = subject.start(process.execPath)
  try {
    await openConnection(client)
    const ms = performance.now() - begin
    // Gives requests sent in parallel with the list time to arrive.
    await sleep(besideMs)
    const { requests } = await subject.remote.setDelay(0)
    return { ms, requests }
  } finally {
    await client.close()
  }
}

function figuresOf({ name, kind }: Subject, { quickMs, slowMs, requests }: Measured): BarredFigure[] {
  const counted = requests.of(name)
  if (Number.isNaN(counted.value)) return []
  const trips = {
    area,
    name: `round trips to tools/list, ${name}`,
    // Disturbances only make a start longer.
    value: (slowMs.of(name).low - quickMs.of(name).low) / slowAnswerMs,
    unit: '',
  }
  const asked = {
    area,
    name: `requests to tools/list, ${name}`,
    ...counted,
    unit: '',
  }
  // Three, plus a tenth for clock errors.
  return kind === 'ours' ? [atMost(3.1, trips), atMost(4, asked)] : [reported(trips), reported(asked)]
}
