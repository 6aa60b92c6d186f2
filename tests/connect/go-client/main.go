// Uses a Braid server through connect-go, as a Go program would. Prints one line per check that
// holds, and ends with an error at the first that does not.
//
// tests/connect/connect-go.e2e.ts generates gen/ from proto/, builds this and runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	braidv1 "braid.test/connect/gen/braid/v1"
	"braid.test/connect/gen/braid/v1/braidv1connect"
	"braid.test/connect/gen/google/rpc"
)

const events = 900

// A minute ago, so that every event is inside the accept limit.
var start = time.Now().Add(-time.Minute).Truncate(time.Microsecond)

func main() {
	url := os.Args[1]
	versions := map[string]*http.Client{"HTTP/1.1": client(false), "HTTP/2": client(true)}
	options := map[string][]connect.ClientOption{
		"proto":           {connect.WithAcceptCompression("gzip", nil, nil)},
		"json":            {connect.WithProtoJSON(), connect.WithAcceptCompression("gzip", nil, nil)},
		"proto with gzip": {connect.WithSendGzip()},
		"json with gzip":  {connect.WithProtoJSON(), connect.WithSendGzip()},
		"proto with GET":  {connect.WithHTTPGet()},
		"json with GET":   {connect.WithProtoJSON(), connect.WithHTTPGet()},
		"gRPC":            {connect.WithGRPC()},
	}
	made := 0
	for version, http := range versions {
		for name, option := range options {
			if name == "gRPC" && version == "HTTP/1.1" {
				continue
			}
			made++
			check(fmt.Sprintf("%s, %s", version, name), fmt.Sprintf("plays_%d", made), http, url, option)
		}
	}
}

func client(http2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}

func check(form, namespace string, http *http.Client, url string, options []connect.ClientOption) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	data := braidv1connect.NewTimeSeriesServiceClient(http, url, options...)
	control := braidv1connect.NewControlServiceClient(http, url, options...)
	for _, each := range []struct {
		name string
		run  func() error
	}{
		{"writes and reads the same events", func() error { return writeAndRead(ctx, namespace, data, control) }},
		{"a missing namespace is not_found with details", func() error { return missing(ctx, data) }},
		{"a call past its deadline is deadline_exceeded", func() error { return late(data, namespace) }},
		{"a cancelled stream is canceled", func() error { return cancelled(ctx, data, namespace) }},
	} {
		if err := each.run(); err != nil {
			fmt.Printf("%s: %s: %v\n", form, each.name, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %s\n", form, each.name)
	}
}

func writeAndRead(
	ctx context.Context,
	namespace string,
	data braidv1connect.TimeSeriesServiceClient,
	control braidv1connect.ControlServiceClient,
) error {
	create := &braidv1.CreateNamespaceRequest{Namespace: namespace}
	if _, err := control.CreateNamespace(ctx, connect.NewRequest(create)); err != nil {
		return err
	}
	written := make([]*braidv1.EventRecord, events)
	for i := range written {
		value := make([]byte, 300)
		value[0] = byte(i)
		written[i] = &braidv1.EventRecord{
			TimeSeriesId: "profile:1",
			EventTime:    timestamppb.New(start.Add(time.Duration(i) * time.Microsecond)),
			EventId:      fmt.Sprintf("e-%d", i),
			EventItems:   []*braidv1.EventItem{{EventItemKey: "raw", EventItemValue: value}},
		}
	}
	batch := &braidv1.WriteEventRecordsSyncRequest{Namespace: namespace, Events: written}
	wrote, err := data.WriteEventRecordsSync(ctx, connect.NewRequest(batch))
	if err != nil {
		return err
	}
	if wrote.Msg.Written != events {
		return fmt.Errorf("%d events written: %v", wrote.Msg.Written, wrote.Msg.Failures)
	}
	if wrote.Header().Get("braid-request-id") == "" && wrote.Trailer().Get("braid-request-id") == "" {
		return errors.New("the answer has no request id")
	}
	query := queryOf(namespace)
	var read []*braidv1.EventRecord
	for {
		page, err := data.ReadEventRecords(ctx, connect.NewRequest(query))
		if err != nil {
			return err
		}
		read = append(read, page.Msg.Records...)
		if query.PageToken = page.Msg.NextPageToken; query.PageToken == "" {
			break
		}
	}
	if err := same(read, written); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	stream, err := data.StreamEventRecords(ctx, connect.NewRequest(queryOf(namespace)))
	if err != nil {
		return err
	}
	read = nil
	for stream.Receive() {
		read = append(read, stream.Msg().Records...)
	}
	if err := errors.Join(stream.Err(), stream.Close()); err != nil {
		return err
	}
	return same(read, written)
}

func missing(ctx context.Context, data braidv1connect.TimeSeriesServiceClient) error {
	_, unary := data.ReadEventRecords(ctx, connect.NewRequest(queryOf("nowhere")))
	stream, err := data.StreamEventRecords(ctx, connect.NewRequest(queryOf("nowhere")))
	if err != nil {
		return err
	}
	for stream.Receive() {
	}
	defer stream.Close()
	for _, failed := range []error{unary, stream.Err()} {
		var failure *connect.Error
		if !errors.As(failed, &failure) || failure.Code() != connect.CodeNotFound {
			return fmt.Errorf("expected not_found: %w", failed)
		}
		if code := failure.Meta().Get("braid-code"); code != "NAMESPACE_NOT_FOUND" {
			return fmt.Errorf("braid-code is %q", code)
		}
		info, err := infoOf(failure)
		if err != nil {
			return err
		}
		if info.Reason != "NAMESPACE_NOT_FOUND" || info.Metadata["namespace"] != "nowhere" {
			return fmt.Errorf("unexpected detail: %v", info)
		}
	}
	return nil
}

func infoOf(failure *connect.Error) (*rpc.ErrorInfo, error) {
	for _, detail := range failure.Details() {
		value, err := detail.Value()
		if err != nil {
			return nil, err
		}
		if info, ok := value.(*rpc.ErrorInfo); ok {
			return info, nil
		}
	}
	return nil, fmt.Errorf("no ErrorInfo in %v", failure)
}

func late(data braidv1connect.TimeSeriesServiceClient, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	for {
		_, err := data.ReadEventRecords(ctx, connect.NewRequest(queryOf(namespace)))
		if err == nil {
			continue // The server was faster than that.
		}
		if connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			return err
		}
		return nil
	}
}

func cancelled(ctx context.Context, data braidv1connect.TimeSeriesServiceClient, namespace string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	query := queryOf(namespace)
	query.PageSize = 1
	stream, err := data.StreamEventRecords(ctx, connect.NewRequest(query))
	if err != nil {
		return err
	}
	defer stream.Close()
	read := 0
	for stream.Receive() {
		read++
		cancel()
	}
	if read == 0 || read == events || connect.CodeOf(stream.Err()) != connect.CodeCanceled {
		return fmt.Errorf("%d pages, then: %w", read, stream.Err())
	}
	return nil
}

func queryOf(namespace string) *braidv1.ReadEventRecordsRequest {
	return &braidv1.ReadEventRecordsRequest{
		Namespace:    namespace,
		TimeSeriesId: "profile:1",
		TimeInterval: &braidv1.TimeInterval{
			Start: timestamppb.New(start),
			End:   timestamppb.New(start.Add(time.Second)),
		},
		Order:    braidv1.ReadEventRecordsRequest_OLDEST_FIRST,
		PageSize: 400,
	}
}

func same(read, written []*braidv1.EventRecord) error {
	if len(read) != len(written) {
		return fmt.Errorf("%d events instead of %d", len(read), len(written))
	}
	for i, event := range written {
		if !proto.Equal(event, read[i]) {
			return fmt.Errorf("event %d differs: %v", i, read[i])
		}
	}
	return nil
}
