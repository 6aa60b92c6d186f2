"""The service as Python's grpcio sees it, by reflection alone.

Usage: python-client.py HOST:PORT. Prints one JSON object with what each step saw; the test compares it.
"""

import json
import sys
import time

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status
from google.rpc import error_details_pb2

OPTIONS = [
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
]


class Client:
    def __init__(self, address):
        self.channel = grpc.insecure_channel(address, options=OPTIONS)
        self.pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))

    def method(self, service, name):
        found = self.pool.FindServiceByName(f"braid.v1.{service}").methods_by_name[name]
        make = self.channel.unary_stream if found.server_streaming else self.channel.unary_unary
        call = make(
            f"/braid.v1.{service}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(found.output_type).FromString,
        )
        return call, message_factory.GetMessageClass(found.input_type)

    def ask(self, service, name, request, **options):
        call, kind = self.method(service, name)
        return call(json_format.ParseDict(request, kind()), **options)


def when(micros):
    seconds, rest = divmod(micros, 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:06d}Z"


def failure_of(work):
    try:
        work()
    except grpc.RpcError as error:
        return error
    raise AssertionError("the call succeeded")


def details_of(error):
    said = {"status": error.code().name, "message": error.details()}
    for detail in rpc_status.from_call(error).details:
        info = error_details_pb2.ErrorInfo()
        retry = error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            said["reason"] = info.reason
        elif detail.Unpack(retry):
            said["retry"] = retry.retry_delay.ToMilliseconds()
    return said


def main(address):
    client = Client(address)
    seen = {}
    namespace = "python"
    client.ask("ControlService", "CreateNamespace", {"namespace": namespace})
    now = int(time.time() * 1_000_000)
    events = [
        {
            "timeSeriesId": "series",
            "eventTime": when(now - n),
            "eventId": f"e-{n:04d}",
            "eventItems": [{"eventItemKey": "payload", "eventItemValue": "eA=="}],
        }
        for n in range(500)
    ]
    query = {
        "namespace": namespace,
        "timeSeriesId": "series",
        "timeInterval": {"start": when(now - 60_000_000), "end": when(now + 1)},
        "pageSize": 100,
    }
    # A compressed request: the server unpacks it.
    wrote = client.ask(
        "TimeSeriesService",
        "WriteEventRecordsSync",
        {"namespace": namespace, "events": events},
        compression=grpc.Compression.Gzip,
        metadata=(("braid-request-id", "python-1"), ("trace-bin", b"\x00\xff")),
    )
    seen["written"] = wrote.written
    seen["page"] = len(client.ask("TimeSeriesService", "ReadEventRecords", query, timeout=30).records)

    pages = [len(page.records) for page in client.ask("TimeSeriesService", "StreamEventRecords", query)]
    seen["streamed"] = sum(pages)

    stream = client.ask("TimeSeriesService", "StreamEventRecords", {**query, "pageSize": 1})
    next(stream)
    stream.cancel()
    seen["cancelled"] = failure_of(lambda: list(stream)).code().name

    late = failure_of(lambda: client.ask("TimeSeriesService", "ReadEventRecords", query, timeout=1e-6))
    seen["late"] = late.code().name

    missing = failure_of(
        lambda: client.ask("ControlService", "GetNamespace", {"namespace": "nö-such"})
    )
    seen["missing"] = details_of(missing)
    absent = failure_of(
        lambda: client.ask("ControlService", "GetNamespace", {"namespace": "absent"})
    )
    seen["absent"] = details_of(absent)

    unknown = client.channel.unary_unary("/braid.v1.TimeSeriesService/Nothing")
    seen["unknown"] = failure_of(lambda: unknown(b"")).code().name

    # Many calls at once on one connection.
    call, kind = client.method("TimeSeriesService", "ReadEventRecords")
    request = json_format.ParseDict(query, kind())
    answers = [call.future(request) for _ in range(50)]
    seen["at once"] = sorted({len(answer.result().records) for answer in answers})
    print(json.dumps(seen))


main(sys.argv[1])
