import { SimpleGrid } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import type { Figures, Window } from '../../api/activity.ts'
import { formatDuration, formatInteger } from '../../wording/format.ts'
import { LINES } from '../../wording/states.ts'
import { Chart } from '../chart/chart.tsx'
import type { Line } from '../chart/plot.ts'
import { Panel } from '../layout/page.tsx'
import { Figure } from '../values/figure.tsx'
import { WINDOWS } from './window.ts'

export const CardGrid = ({ children }: { children: ReactNode }) => (
  <SimpleGrid cols={{ base: 2, sm: 4 }}>{children}</SimpleGrid>
)

export function DeliveryCards({ total, window }: { total: Figures; window: Window }) {
  const { inText } = WINDOWS[window]
  return (
    <>
      <Figure label="Delivered" hint={`Deliveries that a webhook answered with 2xx ${inText}`}>
        {formatInteger(total.delivered)}
      </Figure>
      <Figure
        label="Rejected"
        hint={`Deliveries given up ${inText}, because the receiver answered 3xx or 4xx`}
        isBad={total.rejected > 0}
      >
        {formatInteger(total.rejected)}
      </Figure>
      <Figure
        label="Dead"
        hint={`Deliveries given up ${inText} for another reason, such as failed retries`}
        isBad={total.dead > 0}
      >
        {formatInteger(total.dead)}
      </Figure>
      <Figure
        label="Failed attempts"
        hint={`Requests ${inText} that got no answer, or a status that is retried`}
      >
        {formatInteger(total.failedAttempts)}
      </Figure>
    </>
  )
}

export function QuantileCards({
  name,
  of,
  hint,
}: {
  name: string
  of: Figures['latency']
  hint: (share: string) => string
}) {
  return (
    <>
      <Figure label={`${name} p50`} hint={hint('Half')}>
        {milliseconds(of.p50)}
      </Figure>
      <Figure label={`${name} p99`} hint={hint('99 %')}>
        {milliseconds(of.p99)}
      </Figure>
    </>
  )
}

export const milliseconds = (value: number | null) => (value === null ? '–' : formatDuration(value))

export const latencyHint = (share: string) =>
  `${share} of the deliveries took this long or less, from the accepted call to the 2xx`
export const responseTimeHint = (share: string) => `${share} of all requests took this long or less`

type Bucket = { at: string | null; figures: Figures | null }
type ChartsProps<B extends Bucket> = { window: Window; buckets: readonly B[] }

export function CallsChart({
  window,
  buckets,
}: ChartsProps<Bucket & { calls: { accepted: number; rejected: number } }>) {
  const lines = useMemo(
    () => [
      { ...LINES.accepted, values: buckets.map(({ calls }) => calls.accepted) },
      { ...LINES.rejected, values: buckets.map(({ calls }) => calls.rejected) },
    ],
    [buckets],
  )
  return <TimeChart title="Calls" lines={lines} format={formatInteger} window={window} buckets={buckets} />
}

export function DeliveriesChart({ window, buckets }: ChartsProps<Bucket>) {
  const lines = useMemo(() => {
    const lineOf = (name: 'delivered' | 'rejected' | 'dead' | 'failedAttempts') => ({
      ...LINES[name],
      values: buckets.map(({ figures }) => (figures === null ? null : figures[name])),
    })
    return [lineOf('delivered'), lineOf('rejected'), lineOf('dead'), lineOf('failedAttempts')]
  }, [buckets])
  return (
    <TimeChart title="Deliveries" lines={lines} format={formatInteger} window={window} buckets={buckets} />
  )
}

export function LatencyChart(props: ChartsProps<Bucket>) {
  return (
    <QuantileChart
      title="Latency"
      lead="From the accepted call to the 2xx"
      of={({ latency }) => latency}
      {...props}
    />
  )
}

export function ResponseTimeChart(props: ChartsProps<Bucket>) {
  return (
    <QuantileChart
      title="Response time"
      lead="Of each request"
      of={({ responseTime }) => responseTime}
      {...props}
    />
  )
}

type QuantileChartProps = ChartsProps<Bucket> & {
  title: string
  lead: string
  of: (figures: Figures) => Figures['latency']
}

function QuantileChart({ title, lead, of, window, buckets }: QuantileChartProps) {
  const quantile = (name: 'p50' | 'p99') => buckets.map(({ figures }) => figures && of(figures)[name])
  const lines = [
    { label: 'p50', color: 'blue', values: quantile('p50') },
    { label: 'p99', color: 'grape', values: quantile('p99') },
  ]
  return (
    <TimeChart
      title={title}
      lead={lead}
      lines={lines}
      window={window}
      buckets={buckets}
      format={formatDuration}
    />
  )
}

type TimeChartProps = ChartsProps<Bucket> & {
  title: string
  lead?: string
  lines: readonly Line[]
  format: (value: number) => string
}

function TimeChart({ title, lead, lines, format, window, buckets }: TimeChartProps) {
  const times = useMemo(() => buckets.map(({ at }) => at ?? ''), [buckets])
  const { bucket, inText } = WINDOWS[window]
  return (
    <Panel title={title} lead={lead === undefined ? `By ${bucket}` : `${lead}, by ${bucket}`}>
      <Chart label={`${title} by ${bucket}, ${inText}`} times={times} lines={lines} format={format} />
    </Panel>
  )
}
