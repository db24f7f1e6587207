import type { AreaFigure } from './figure.ts'

/** Programs that a user could run in place of Drawbridge or its parts; figures compare with others, too. */
const alternatives =
  /^(.*?),? times ((?:mcp-|supergateway|FastMCP|ToolHive|oidc-provider|MCP SDK|pass-through).*)$/
const [width, rowHeight, zero, octave, maxOctaves] = [900, 26, 640, 55, 4]

const style = `text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .quiet { fill: #59636e } .page { fill: #fff } .fast { fill: #1f7a4d } .slow { fill: #b35900 } line { stroke: #c4cbd3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .quiet { fill: #a3adb8 } .page { fill: #0d1117 } .fast { fill: #3fb27f } .slow { fill: #e08e45 }
    line { stroke: #3d444d }
  }`

/** Draws as SVG how many times as fast as each alternative Drawbridge is, on a logarithmic scale; none if there are none. */
export function picture(figures: readonly AreaFigure[]): string {
  const rows = figures.flatMap(({ area, name, value, goal }) => {
    const [, what, peer] = alternatives.exec(name) ?? []
    if (goal === undefined || what === undefined || peer === undefined || Number.isNaN(value)) return []
    return [{ label: `${area}: ${what}`, peer, times: goal === '<=' ? 1 / value : value }]
  })
  const height = (rows.length + 2) * rowHeight
  const drawn = rows.map(({ label, peer, times }, index) => {
    const y = (index + 1.7) * rowHeight
    const length = Math.min(Math.abs(Math.log2(times)), maxOctaves) * octave
    const [kind, x] = times >= 1 ? ['fast', zero] : ['slow', zero - length]
    const end = times >= 1 ? zero + length + 6 : zero + 6
    return `<text x="12" y="${y}">${label} <tspan class="quiet">/ ${peer}</tspan></text>
  <rect class="${kind}" x="${x.toFixed(1)}" y="${y - 12}" width="${length.toFixed(1)}" height="15"/>
  <text x="${end.toFixed(1)}" y="${y}">${times.toPrecision(2)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
  <title>How many times as fast as the alternatives</title>
  <style>${style}</style>
  <rect class="page" width="${width}" height="${height}"/>
  <text class="quiet" x="12" y="20">Drawbridge is this many times as fast. Longer to the right is better.</text>
  ${drawn.join('\n  ')}
  <line x1="${zero}" x2="${zero}" y1="28" y2="${height - 12}"/>
</svg>
`
}
