"""The kinds of events in a broker's log, as the facts of the check kafka_log name them."""

from agent.sources.kafka.log_events import EXPAND as EXPAND
from agent.sources.kafka.log_events import LOG_DIR as LOG_DIR
from agent.sources.kafka.log_events import MOVED as MOVED
